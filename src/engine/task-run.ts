import type { TaskHistory } from '../model/history.ts'
import type { TaskRunState } from '../model/lifecycle.ts'
import type { AttemptRecord } from '../model/occurrence.ts'
import type { ErrorRecord, TaskReport } from '../model/report.ts'
import type { TaskSettings } from '../model/settings.ts'
import type { Attempt } from './attempt.ts'
import type { RunnableTask } from './registry.ts'

/** `saving`: its attempt has ended and the record is on its way to the store. `retrying`: it waits for its next attempt. */
type Phase = 'waiting' | 'running' | 'saving' | 'retrying' | 'succeeded' | 'failed' | 'timeout' | 'canceled'

/** One task of an occurrence during a turn. */
export class TaskRun {
  readonly task: RunnableTask
  readonly after: readonly string[]
  readonly settings: TaskSettings
  phase: Phase
  attempts: number
  failures: number
  retryAt: number
  /** JSON text. */
  result: string | null
  error: ErrorRecord | null = null
  canceledBy: string | null = null
  durationMs = 0
  attempt: Attempt | null = null
  /** Its success was committed together with the handler's own writes. */
  isCommitted = false
  /** Settles when a transaction that is under way has come out one way or the other. */
  committing: Promise<unknown> | null = null

  constructor(task: RunnableTask, after: readonly string[], settings: TaskSettings, history: TaskHistory) {
    this.task = task
    this.after = after
    this.settings = settings
    this.attempts = history.attempts.length
    this.failures = history.failures
    this.retryAt = history.retryAt ?? 0
    this.result = history.result
    this.phase =
      history.state === 'pending' || history.state === 'canceled'
        ? history.retryAt === null
          ? 'waiting'
          : 'retrying'
        : (history.state as Phase)
    this.error = history.attempts.at(-1)?.error ?? null
  }

  get name(): string {
    return this.task.name
  }

  get isActive(): boolean {
    return this.phase === 'running' || this.phase === 'saving'
  }

  get isFinished(): boolean {
    return this.phase === 'succeeded' || this.phase === 'canceled' || this.hasFailed
  }

  get hasFailed(): boolean {
    return this.phase === 'failed' || this.phase === 'timeout'
  }

  /** Whether its end, if bad, ends the others too. */
  get isVital(): boolean {
    return this.settings.onFailure !== 'continue'
  }

  /** Under `retry` nothing else starts from its first failure until its retries have helped or run out. */
  get holdsOthers(): boolean {
    return this.settings.onFailure === 'hold' && this.failures > 0 && !this.isFinished
  }

  /** Its result comes from the occurrence that is replayed. */
  takeOver(result: string | null): void {
    this.phase = 'succeeded'
    this.result = result
  }

  cancel(by: string | null): void {
    this.phase = 'canceled'
    this.canceledBy = by
  }

  /** The record of the attempt that has just ended. */
  attemptRecord({
    turn,
    state,
    startedAt,
    endedAt,
  }: Pick<AttemptRecord, 'turn' | 'state' | 'startedAt' | 'endedAt'>): AttemptRecord {
    const { phase } = this
    return {
      turn,
      task: this.name,
      n: this.attempts,
      state,
      startedAt,
      endedAt,
      result: phase === 'succeeded' ? this.result : null,
      error: this.hasFailed || phase === 'retrying' ? this.error : null,
      retryAt: phase === 'retrying' ? this.retryAt : null,
    }
  }

  report(): TaskReport {
    return {
      task: this.name,
      state: this.isFinished ? (this.phase as TaskRunState) : 'pending',
      attempts: this.attempts,
      durationMs: this.durationMs,
      ...(this.canceledBy !== null && { canceledBy: this.canceledBy }),
      ...(this.error !== null && this.phase !== 'succeeded' && { error: this.error }),
    }
  }
}
