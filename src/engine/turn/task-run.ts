import { type TaskHistory, taskHistories } from '../../model/history.ts'
import type { TaskRunState } from '../../model/lifecycle.ts'
import type { AttemptRecord } from '../../model/occurrence.ts'
import type { ErrorRecord, TaskReport } from '../../model/report.ts'
import type { TaskSettings } from '../../model/settings.ts'
import type { ClaimMember } from '../../store/store.ts'
import type { RunnableTask } from '../node/registry.ts'
import type { Attempt } from './attempt.ts'
import type { TurnSettings } from './turn-settings.ts'

/** `saving`: its attempt has ended and the record is on its way to the store. `retrying`: it waits for its next attempt. */
type Phase = 'waiting' | 'running' | 'saving' | 'retrying' | 'succeeded' | 'failed' | 'timeout' | 'canceled'

/** One task of an occurrence during a turn. */
export class TaskRun {
  readonly task: RunnableTask
  /** The tasks that must be finished before this one. */
  readonly after: readonly TaskRun[]
  readonly settings: TaskSettings
  phase: Phase
  attempts: number
  failures: number
  retryAt: number
  /** JSON text. */
  result: string | null
  error: ErrorRecord | null
  canceledBy: string | null = null
  durationMs = 0
  /** The attempt under way. */
  attempt: Attempt | null = null
  /** Its success was committed together with the handler's own writes. */
  isCommitted = false
  /** Settles when the outcome of a transaction under way is known. */
  committing: Promise<unknown> | null = null

  constructor(task: RunnableTask, after: readonly TaskRun[], settings: TaskSettings, history: TaskHistory) {
    this.task = task
    this.after = after
    this.settings = settings
    this.attempts = history.attempts.length
    this.failures = history.failures
    this.retryAt = history.retryAt ?? 0
    this.result = history.result
    this.phase = phaseAfter(history)
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

  /** Whether it has failed for good, and the occurrence with it. */
  get isFatal(): boolean {
    return this.hasFailed && this.isVital
  }

  /** Under `retry` nothing else starts from its first failure until its retries have helped or run out. */
  get holdsOthers(): boolean {
    return this.settings.onFailure === 'hold' && this.failures > 0 && !this.isFinished
  }

  /** The predecessor whose bad end means that this task will not run. */
  get blocker(): TaskRun | undefined {
    return this.isVital ? this.after.find((before) => before.phase === 'canceled' || before.isFatal) : undefined
  }

  succeed(result: string | null): void {
    this.phase = 'succeeded'
    this.result = result
  }

  /** @param waitMs The wait before the next attempt; null when none follows. */
  fail(state: 'failed' | 'timeout', error: ErrorRecord, endedAt: number, waitMs: number | null): void {
    this.error = error
    this.phase = waitMs === null ? state : 'retrying'
    this.retryAt = waitMs === null ? 0 : endedAt + waitMs
  }

  cancel(by: string | null): void {
    this.phase = 'canceled'
    this.canceledBy = by
  }

  /** The record of an attempt of this task that has just ended. */
  attemptRecord({ turn, n, state, startedAt, endedAt }: Attempt): AttemptRecord {
    const { phase } = this
    return {
      turn: turn.n,
      task: this.name,
      n,
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

/** The tasks of a member, as its earlier turns left them. */
export function taskRuns({ runnable, graph, after, tasks }: TurnSettings, member: ClaimMember): readonly TaskRun[] {
  const histories = taskHistories(graph, member.turns, member.attempts, true)
  const runs: TaskRun[] = []
  for (let at = 0; at < runnable.tasks.length; at++) {
    const before = (after[at] as readonly number[]).map((place) => runs[place] as TaskRun)
    runs.push(new TaskRun(runnable.tasks[at] as RunnableTask, before, tasks[at] as TaskSettings, histories[at] as TaskHistory))
  }
  return runs
}

function phaseAfter({ state, retryAt }: TaskHistory): Phase {
  if (state !== 'pending' && state !== 'canceled') return state as Phase
  return retryAt === null ? 'waiting' : 'retrying'
}
