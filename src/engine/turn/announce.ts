// The events of a turn. An event without a listener is not made, and a report only when it is read: at full speed most are not.
import type { OccurrenceEvent } from '../../model/events.ts'
import type { TurnEnd } from '../../model/lifecycle.ts'
import type { ErrorRecord, ExecutionReport } from '../../model/report.ts'
import { RecordIds } from './record-ids.ts'
import { occurrenceEvent, reportOf } from './report.ts'
import type { Turn, TurnResult } from './turn.ts'

export function announceStart(turn: Turn): void {
  const { events } = turn.env
  const latenessMs = (turn.startedAt as number) - turn.member.dueAt
  countStart(turn, latenessMs)
  if (!events.has('occurrence.started')) return
  events.emit('occurrence.started', { ...occurrenceEvent(turn), latenessMs })
}

export function announceEnd(turn: Turn, result: TurnResult): void {
  const { env, error, delayMs } = turn
  countEnd(turn, result)
  const name = eventNames[result]
  if (!name || !env.events.has(name)) return
  if (name === 'occurrence.lost' || name === 'occurrence.released') env.events.emit(name, occurrenceEvent(turn))
  else if (name === 'occurrence.retrying') env.events.emit(name, { ...occurrenceEvent(turn), dueInMs: delayMs, error })
  else if (name === 'occurrence.canceled') env.events.emit(name, { ...occurrenceEvent(turn), reason: turn.cancelReason })
  else if (name === 'occurrence.failed') env.events.emit(name, new FailedTurn(turn, result as 'failed' | 'dead'))
  else env.events.emit(name, new ReportedTurn(turn, result as TurnEnd))
}

function countStart({ env, record, n, startedAt }: Turn, latenessMs: number): void {
  const { tenant, job } = record
  env.figures.started(tenant, job, startedAt as number, latenessMs, n === 1)
}

function countEnd({ env, record, startedAt, endedAt }: Turn, result: TurnResult): void {
  const { tenant, job } = record
  const hasFailed = result === 'failed' || result === 'dead' || result === 'parked'
  const hasRun = startedAt !== null && result !== 'abandoned' && result !== 'released'
  env.figures.ended(tenant, job, endedAt, counts[result] ?? null, hasFailed, hasRun ? endedAt - startedAt : null)
}

const counts: Readonly<Partial<Record<TurnResult, 'completed' | 'failed' | 'canceled'>>> = {
  completed: 'completed',
  failed: 'failed',
  dead: 'failed',
  canceled: 'canceled',
}

const eventNames = {
  completed: 'occurrence.completed',
  failed: 'occurrence.failed',
  dead: 'occurrence.failed',
  parked: 'occurrence.retrying',
  released: 'occurrence.released',
  canceled: 'occurrence.canceled',
  abandoned: 'occurrence.lost',
  // These ends are written by others than the node that runs a turn.
  skipped: null,
  missed: null,
  stale: null,
  lost: null,
} as const satisfies Record<TurnResult, string | null>

class ReportedTurn extends RecordIds implements OccurrenceEvent {
  readonly id: string
  readonly turn: number
  readonly error: ErrorRecord | null
  readonly #turn: Turn
  readonly #outcome: TurnEnd
  #report: ExecutionReport | null = null

  constructor(turn: Turn, outcome: TurnEnd) {
    super(turn.record)
    this.id = turn.record.id
    this.turn = turn.n
    this.error = turn.error
    this.#turn = turn
    this.#outcome = outcome
  }

  get report(): ExecutionReport {
    this.#report ??= reportOf(this.#turn, this.#outcome)
    return this.#report
  }
}

class FailedTurn extends ReportedTurn {
  readonly state: 'failed' | 'dead'

  constructor(turn: Turn, state: 'failed' | 'dead') {
    super(turn, state)
    this.state = state
  }
}
