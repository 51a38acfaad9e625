import type { OccurrenceEvent } from '../model/events.ts'
import type { Source, TurnEnd } from '../model/lifecycle.ts'
import type { ErrorRecord, ExecutionReport } from '../model/report.ts'
import type { Executor } from './executor.ts'

/** The event of a turn that has ended. Its report is made when somebody reads it: at full speed most are read by nobody. */
export class ReportedTurn implements OccurrenceEvent {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly key: string | null
  readonly source: Source
  readonly turn: number
  readonly error: ErrorRecord | null
  readonly #executor: Executor
  readonly #outcome: TurnEnd
  #report: ExecutionReport | null = null

  constructor(executor: Executor, outcome: TurnEnd, error: ErrorRecord | null) {
    const { record, turn } = executor.member
    this.id = record.id
    this.tenant = record.tenant
    this.job = record.job
    this.key = record.key
    this.source = record.source
    this.turn = turn
    this.error = error
    this.#executor = executor
    this.#outcome = outcome
  }

  get report(): ExecutionReport {
    this.#report ??= this.#executor.report(this.#outcome)
    return this.#report
  }
}

/** The event of a turn whose end is a final failure. */
export class FailedTurn extends ReportedTurn {
  readonly state: 'failed' | 'dead'

  constructor(executor: Executor, state: 'failed' | 'dead', error: ErrorRecord | null) {
    super(executor, state, error)
    this.state = state
  }
}
