import type { AttemptState, Source, TaskRunState, TurnEnd } from './lifecycle.ts'
import type { FailureStrategy, TaskMode } from './settings.ts'

/** A failure as it is recorded: never the error object itself. */
export interface ErrorRecord {
  readonly message: string
  readonly name?: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: ErrorRecord
  /** The errors of an `AggregateError`. */
  readonly errors?: readonly ErrorRecord[]
  /** The cause of an error that is sealed. */
  readonly fingerprint?: string
}

/** How one task of an occurrence went. */
export interface TaskReport {
  readonly task: string
  readonly state: TaskRunState
  readonly attempts: number
  readonly durationMs: number
  /** The task whose failure cancelled this one. */
  readonly canceledBy?: string
  readonly error?: ErrorRecord
}

/** One try of a task. */
export interface AttemptReport {
  readonly task: string
  /** 1 for the first try of the task. */
  readonly n: number
  readonly state: AttemptState
  /** Null for a try that was cut with its node before its start was recorded. */
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly durationMs: number
  readonly error: ErrorRecord | null
}

/** How a turn of an occurrence went, task by task: given to `onComplete` and kept with the turn. */
export interface ExecutionReport {
  readonly occurrenceId: string
  readonly tenant: string
  readonly job: string
  readonly source: Source
  readonly turn: number
  readonly outcome: TurnEnd
  readonly mode: TaskMode | 'graph'
  readonly onFailure: FailureStrategy
  readonly startedAt: Date | null
  readonly endedAt: Date
  readonly durationMs: number
  readonly tasks: readonly TaskReport[]
  /** Every attempt of the occurrence, those of earlier turns included, task by task. */
  readonly attempts: readonly AttemptReport[]
}
