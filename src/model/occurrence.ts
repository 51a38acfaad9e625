import type { Refs } from './context.ts'
import type { AttemptState, OccurrenceState, Source, TurnEnd } from './lifecycle.ts'
import type { Limit, LimitKind } from './limit.ts'
import type { Span } from './recovery.ts'
import type { ErrorRecord, TaskReport } from './report.ts'
import type { SettingsDiff } from './settings.ts'

export const uniqueKinds = ['ever', 'live'] as const
/** Whether a key is taken for as long as records and tombstones last (`ever`), or until its occurrence ends (`live`). */
export type UniqueKind = (typeof uniqueKinds)[number]

/** Which occurrence is repeated, why, and which of its tasks: all when there is no list. */
export interface Replay {
  readonly origin: string
  readonly reason: string
  readonly tasks: readonly string[] | null
}

/** Why an occurrence that is due does not run. */
export interface WaitRecord {
  readonly reason: 'stranded' | 'pause' | LimitKind
  /** The key it waits for. */
  readonly key: string | null
  /** When it is looked at again by itself. */
  readonly wakeAt: number | null
}

/** The part of an occurrence that is written at its creation and never changed. */
export interface OccurrenceRecord {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly definition: string
  /** The definition and edition that a node needs to run it: see `kindOf`. */
  readonly kind: string
  readonly version: number
  readonly source: Source
  readonly key: string | null
  readonly unique: UniqueKind
  /** The highest version that the key was given: requests with no higher one change nothing. */
  readonly keyVersion?: number
  readonly entity: string | null
  /** The id of the occurrence whose handler created it. */
  readonly parent: string | null
  readonly refs: Refs
  /** JSON text. */
  readonly payload: string | null
  readonly settings: SettingsDiff | null
  readonly priority: number
  /** The keys it must hold in order to run, in the order in which they are taken. */
  readonly limits: readonly Limit[] | null
  /** The instants that a compressed run stands for. */
  readonly span: Span | null
  /** The origin of a replay. */
  readonly replay: Replay | null
  /** Not started this long after it was due, it is missed. */
  readonly startWithinMs: number | null
  /** Whether its end is noted until `onComplete` has run. */
  readonly isHooked: boolean
  /** Where its end is published: see `outletText`. */
  readonly publish?: string
  /** The instant it stands for: nominal for a scheduled one, the origin's for a replay, the due before the first start for others. */
  readonly scheduledAt: number
  readonly createdAt: number
}

/** The end of the n-th stay of an occurrence on a node. Insert-only: it is the fence. */
export interface TurnRecord {
  readonly turn: number
  readonly end: TurnEnd
  /** The boot id of the node, or null when no node ran it. */
  readonly node: string | null
  readonly startedAt: number | null
  readonly endedAt: number
  /** JSON text: the result of the last task. */
  readonly result: string | null
  readonly error: ErrorRecord | null
  /** For an occurrence of one task: the attempt that this turn also is. */
  readonly attempt: AttemptState | null
  /** Effective settings that differ from the defaults, frozen at the first start. */
  readonly settings: SettingsDiff | null
  /** Task by task, for an occurrence of several. */
  readonly tasks: readonly TaskReport[] | null
  readonly reason: string | null
}

/** One ended try of one task that its turn's own record does not hold. Insert-only. */
export interface AttemptRecord {
  readonly turn: number
  readonly task: string
  readonly n: number
  readonly state: AttemptState
  readonly startedAt: number
  readonly endedAt: number
  /** JSON text. */
  readonly result: string | null
  readonly error: ErrorRecord | null
  /** When the task is tried again; null when it has succeeded, was canceled, or has failed for good. */
  readonly retryAt: number | null
}

export interface Progress {
  readonly task: string
  readonly done: number
  readonly message: string | null
  readonly at: number
}

/** The log lines of one try of one task. A later record of the same try replaces it. */
export interface AttemptLog {
  readonly turn: number
  readonly task: string
  readonly n: number
  /** JSON text of `LogText`. */
  readonly text: string
}

/** All that the store knows of an occurrence. */
export interface OccurrenceHistory {
  readonly record: OccurrenceRecord
  readonly state: OccurrenceState
  /** When it is due, or was last. */
  readonly dueAt: number
  /** The boot id of the node that runs it. */
  readonly node: string | null
  /** The start of the turn under way, once a heartbeat has recorded it; null before that, and while it does not run. */
  readonly runningSince: number | null
  readonly turns: readonly TurnRecord[]
  readonly attempts: readonly AttemptRecord[]
  readonly progress: Progress | null
  /** By turn, task and try. */
  readonly logs: readonly AttemptLog[]
  readonly wait: WaitRecord | null
  /** Of those that hold the key it waits for, at most ten ids. */
  readonly blockers: readonly string[]
}

/** One line of a list. */
export interface OccurrenceSummary {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly key: string | null
  readonly unique: UniqueKind
  readonly entity: string | null
  readonly parent: string | null
  readonly source: Source
  readonly state: OccurrenceState
  readonly turn: number
  readonly scheduledAt: number
  readonly dueAt: number
  readonly createdAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly error: ErrorRecord | null
  /** Of ended work: why it was canceled, skipped or missed, where that is known. */
  readonly reason: string | null
  /** Of dead work: what it died of, see `causeOf`. */
  readonly cause: string | null
}
