// Members of a claim, as the node gets them. They carry what later writes need, so those look nothing up.

import { versionAt } from '../../../model/job.ts'
import type { OccurrenceRecord } from '../../../model/occurrence.ts'
import { mayHaveBegun, recoveries } from '../../../model/turn.ts'
import type { OccurrenceRow } from '../../rules/sql/occurrence-row.ts'
import { keepsVersion } from '../../rules/verdict.ts'
import type { ClaimMember, ClaimRequest, MemberWrite } from '../../store.ts'
import type { Moving } from '../changes/changes.ts'
import type { Session } from '../connection/session.ts'
import type { Context } from '../context.ts'
import { type History, noHistory, readHistories } from '../occurrence/history.ts'
import { occurrenceRecord } from '../occurrence/record.ts'
import type { CurrentJob } from './current-jobs.ts'

export interface MemberRow extends OccurrenceRow {
  readonly due_at: number
  /** Null for the first. */
  readonly turn: number | null
}

/** The claim of members, and how many of their turns have not ended as far as this process knows. */
export interface Batch {
  readonly id: string
  readonly node: string
  left: number
}

export interface Describing {
  readonly claim: Pick<ClaimRequest, 'id' | 'node'>
  readonly now: number
  readonly jobs: readonly CurrentJob[]
  /** Attempts may have been recorded in the turn itself. */
  readonly isRepeated?: boolean
}

/** A member as the node gets it. It hands it back with every write; a copy, or one of another process, is looked up with care. */
class Member implements ClaimMember {
  readonly ref: number
  readonly turn: number
  readonly record: OccurrenceRecord
  readonly dueAt: number
  readonly recoveries: number
  readonly jobSettings: ClaimMember['jobSettings']
  readonly lastRunAt: number | null
  readonly turns: ClaimMember['turns']
  readonly attempts: ClaimMember['attempts']
  readonly #series: number
  readonly #kind: number
  readonly #batch: Batch
  #isOver = false

  constructor(
    fields: Pick<ClaimMember, 'ref' | 'turn' | 'record' | 'dueAt' | 'jobSettings' | 'lastRunAt'>,
    { turns, attempts }: History,
    own: { readonly series: number; readonly kind: number; readonly batch: Batch },
  ) {
    this.ref = fields.ref
    this.turn = fields.turn
    this.record = fields.record
    this.dueAt = fields.dueAt
    this.recoveries = turns.length === 0 ? 0 : recoveries(turns)
    this.jobSettings = fields.jobSettings
    this.lastRunAt = fields.lastRunAt
    this.turns = turns
    this.attempts = attempts
    this.#series = own.series
    this.#kind = own.kind
    this.#batch = own.batch
  }

  /** A member whose turn ends, and its claim; undefined for one that this process has not claimed so. */
  static ending({ claim, member }: MemberWrite): EndingMember | undefined {
    if (!(#batch in member) || member.#isOver) return undefined
    const { ref, record, turn, dueAt, turns } = member
    if (member.#batch.id !== claim.id) return undefined
    return {
      moving: {
        ref,
        series: member.#series,
        kind: member.#kind,
        record,
        turn,
        dueAt,
        hasBegun: turns.length > 0 && turns.some(mayHaveBegun),
        granted: record.limits?.length ?? 0,
        state: 'running',
        line: null,
      },
      batch: member.#batch,
    }
  }

  /** Notes that the turn of a member is over. */
  static over(member: ClaimMember): void {
    if (!(#batch in member) || member.#isOver) return
    member.#isOver = true
    member.#batch.left -= 1
  }
}

export interface EndingMember {
  readonly moving: Moving
  readonly batch: Batch
}

export const { ending, over } = Member

export async function describe(
  context: Context,
  session: Session,
  rows: readonly MemberRow[],
  { claim, now, jobs, isRepeated = false }: Describing,
): Promise<ClaimMember[]> {
  if (rows.length === 0) return []
  const { names, versions } = context
  await names.learnOf(session, rows)
  const changed = jobs.filter(({ series, version }) => versions.of(series) === undefined || versions.newest(series) !== version)
  await versions.refresh(
    session,
    changed.map(({ series }) => series),
  )
  const lastRuns = new Map(jobs.map(({ series, lastRunAt }) => [series, lastRunAt]))
  const repeated = rows.filter(({ turn }) => isRepeated || (turn !== null && turn > 1))
  const histories = await readHistories(
    session,
    repeated.map(({ ref }) => ref),
  )
  const settings = new SettingsOfJobs(context, now)
  const batch: Batch = { id: claim.id, node: claim.node, left: rows.length }
  return rows.map((row) => {
    const { ref, series, due_at: dueAt } = row
    const record = occurrenceRecord(names, row, dueAt)
    const jobSettings = settings.of(series, record)
    const fields = { ref, turn: row.turn ?? 1, record, dueAt, jobSettings, lastRunAt: lastRuns.get(series) ?? null }
    return new Member(fields, histories.get(ref) ?? noHistory, { series, kind: names.formByRef(row.form).kindRef, batch })
  })
}

/** The order in which work is taken. */
export function inOrder(a: ClaimMember, b: ClaimMember): number {
  return a.record.priority - b.record.priority || a.dueAt - b.dueAt || a.ref - b.ref
}

/** The settings of jobs: a planned instant keeps its version, enqueued work uses the version in force. */
class SettingsOfJobs {
  readonly #context: Context
  readonly #now: number
  readonly #inForce = new Map<number, ClaimMember['jobSettings']>()

  constructor(context: Context, now: number) {
    this.#context = context
    this.#now = now
  }

  of(series: number, { version, source }: OccurrenceRecord): ClaimMember['jobSettings'] {
    const versions = this.#context.versions.of(series) ?? []
    if (versions.length === 0) return null
    if (keepsVersion(source)) return versions.find((one) => one.version === version)?.spec.settings ?? null
    const known = this.#inForce.get(series) ?? versionAt(versions, this.#now).spec.settings
    this.#inForce.set(series, known)
    return known
  }
}
