import { type OccurrenceState, stateAfter } from '../../model/lifecycle.ts'
import type { Limit } from '../../model/limit.ts'
import type { AttemptLog, AttemptRecord, OccurrenceRecord, Progress, TurnRecord, WaitRecord } from '../../model/occurrence.ts'
import { bareEnd } from '../../model/turn.ts'
import type { AuditedOccurrence } from '../rules/audit.ts'
import type { AtDoor } from '../rules/door.ts'

/** The entry as the audit shows it. A cancel of running work is a request: it shows as `canceling`. */
export function audited({ id, tenant, job, state, dueAt, place, cancel }: Entry): AuditedOccurrence {
  const shown = state === 'running' && cancel ? 'canceling' : state
  return { id, tenant, job, state: shown, dueAt: place === 'ready' || place === 'waiting' ? dueAt : 0 }
}

/** An occurrence with its live place and its history. */
export class Entry implements AtDoor {
  readonly ref: number
  record: OccurrenceRecord
  dueAt: number
  /** The turn it is in, or will be in next. */
  turn = 1
  place: 'ready' | 'waiting' | 'claimed' | 'ended' = 'ended'
  /** Why it waits, while it does. */
  wait: WaitRecord | null = null
  granted = 0
  hasBegun = false
  /** Changes whenever the entry enters or leaves a queue. */
  ticket = 0
  claim: string | null = null
  start: { readonly turn: number; readonly startedAt: number; readonly deadlineAt: number } | null = null
  /** A cancel was asked for while it ran. */
  cancel: { readonly reason: string | null } | null = null
  /** The cause of death, while it is dead. */
  cause: string | null = null
  readonly turns: TurnRecord[] = []
  readonly attempts: AttemptRecord[] = []
  progress: Progress | null = null
  readonly logs: AttemptLog[] = []

  constructor(ref: number, record: OccurrenceRecord, dueAt: number) {
    this.ref = ref
    this.record = record
    this.dueAt = dueAt
  }

  get id(): string {
    return this.record.id
  }

  get tenant(): string {
    return this.record.tenant
  }

  get job(): string {
    return this.record.job
  }

  get kind(): string {
    return this.record.kind
  }

  get priority(): number {
    return this.record.priority
  }

  get limits(): readonly Limit[] {
    return this.record.limits ?? []
  }

  get isRecovery(): boolean {
    return this.record.source === 'recovery'
  }

  get state(): OccurrenceState {
    if (this.place === 'claimed') return 'running'
    if (this.place === 'waiting') return 'waiting'
    const last = this.turns.at(-1)
    if (!last) return 'pending'
    return this.place === 'ready' && last.end === 'dead' ? 'retrying' : stateAfter[last.end]
  }

  /** The end row of its turn, of which only the manner and the time are known. */
  endRow(end: TurnRecord['end'], now: number, more: Partial<TurnRecord> = {}): TurnRecord {
    return { turn: this.turn, ...bareEnd(end, now, more) }
  }
}
