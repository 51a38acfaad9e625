import type { PunctualError } from '../errors.ts'
import type { AbortReason } from '../model/context.ts'
import { errorRecord } from '../model/error-record.ts'
import type { AttemptState } from '../model/lifecycle.ts'
import type { AttemptRecord } from '../model/occurrence.ts'
import { encodeResult } from '../model/payload.ts'
import type { ErrorRecord } from '../model/report.ts'
import { retryDelay } from '../model/retry.ts'
import { Attempt, type AttemptListener, type AttemptOutcome } from './attempt.ts'
import type { Execution } from './execution.ts'
import type { TaskRun } from './task-run.ts'

/** How a turn's tasks came out. `abandoned`: the occurrence is no longer this node's, and nothing may be written. */
export interface TasksOutcome {
  readonly end: 'completed' | 'failed' | 'parked' | 'released' | 'canceled' | 'abandoned'
  /** The wait before the next turn. */
  readonly delayMs: number
  readonly error: ErrorRecord | null
  /** JSON text. */
  readonly result: string | null
  /** Attempts that are not in the store yet. */
  readonly attempts: readonly AttemptRecord[]
}

export interface TasksListener {
  tasksEnded(outcome: TasksOutcome): void
  /** What was done could not be recorded. */
  tasksRefused(error: unknown): void
}

/** Runs the tasks of one turn: starts what may start, takes in what ended, until all have finished or none can go on. */
export class TaskRunner implements AttemptListener {
  readonly #execution: Execution
  readonly #runs: readonly TaskRun[]
  readonly #listener: TasksListener
  #byName: ReadonlyMap<string, TaskRun> | null = null
  #unsaved: readonly AttemptRecord[] = []
  #stopping: AbortReason | null = null
  #cancelTimer: (() => void) | null = null
  #cancelDeadline: (() => void) | null = null
  #isOver = false

  constructor(execution: Execution, listener: TasksListener) {
    this.#execution = execution
    this.#runs = execution.runs
    this.#listener = listener
  }

  /** @param mono Now, by the monotonic clock. */
  run(mono: number): void {
    const { env, settings, member } = this.#execution
    if (this.#runs.length > 1)
      this.#cancelDeadline = env.clock.timer(settings.executionTimeoutMs, () =>
        this.abort('timeout', `execution, ${settings.executionTimeoutMs} ms`),
      )
    if (member.turn > 1) this.#makeRetryDue()
    this.#pump(mono)
  }

  /** The occurrence came due, and so did its earliest retry: a person may have moved it, and this node's time is an estimate. */
  #makeRetryDue(): void {
    const [first] = this.#runs.filter((run) => run.phase === 'retrying').sort((a, b) => a.retryAt - b.retryAt)
    if (first && !this.#canGoOn()) first.retryAt = Math.min(first.retryAt, this.#execution.env.time.now())
  }

  /** Signals every running task and starts no other. */
  abort(reason: AbortReason, detail?: string | null): void {
    if (this.#isOver || this.#stopping === 'lost' || (this.#stopping === 'cancel' && reason !== 'lost')) return
    this.#stopping = reason
    for (const run of this.#runs) run.attempt?.abort(reason, detail)
    // Whoever aborts is in the middle of something: what follows comes after it.
    queueMicrotask(() => this.#pump())
  }

  #pump(mono = this.#execution.env.clock.mono()): void {
    if (this.#isOver) return
    if (this.#stopping === 'lost') return this.#end('abandoned')
    this.#cancelTimer?.()
    const failed = this.#runs.find((run) => run.hasFailed && run.isVital)
    if (failed) this.#cancelPeers(failed)
    if (!this.#stopping) this.#startWhatMay(mono)
    if (this.#runs.some((run) => run.isActive)) this.#awaitRetry()
    else this.#conclude()
  }

  #startWhatMay(mono: number): void {
    const { clock, time } = this.#execution.env
    for (let at = 0; at < this.#runs.length; at++) {
      const run = this.#runs[at] as TaskRun
      // A handler that was started just before may have taken its time.
      const moment = at === 0 ? mono : clock.mono()
      if (run.phase === 'retrying' && run.retryAt <= time.at(moment)) this.#start(run, moment)
      if (run.phase !== 'waiting') continue
      const blocker = this.#blocker(run)
      if (blocker) run.cancel(blocker.canceledBy ?? blocker.name)
      else if (this.#mayStart(run)) this.#start(run, moment)
    }
  }

  /** The predecessor whose bad end means that this task will not run. */
  #blocker(run: TaskRun): TaskRun | undefined {
    if (!run.isVital) return undefined
    for (const name of run.after) {
      const before = this.#runOf(name)
      if (before.phase === 'canceled' || (before.hasFailed && before.isVital)) return before
    }
    return undefined
  }

  #mayStart(run: TaskRun): boolean {
    return run.after.every((name) => this.#runOf(name).isFinished) && !this.#runs.some((other) => other.holdsOthers)
  }

  /** Whether a task that waits for nothing is left. */
  #canGoOn(): boolean {
    return this.#runs.some((run) => run.phase === 'waiting' && this.#mayStart(run))
  }

  #runOf(name: string): TaskRun {
    this.#byName ??= new Map(this.#runs.map((run) => [run.name, run]))
    return this.#byName.get(name) as TaskRun
  }

  #start(run: TaskRun, mono: number): void {
    const { events } = this.#execution.env
    run.phase = 'running'
    run.attempts += 1
    run.attempt = new Attempt(this.#execution, run, this, mono)
    if (events.has('task.started')) events.emit('task.started', this.#execution.taskEvent(run))
    run.attempt.start()
  }

  resultsFor(run: TaskRun): Readonly<Record<string, unknown>> {
    const results: Record<string, unknown> = {}
    for (const name of run.after) {
      const { phase, result } = this.#runOf(name)
      results[name] = phase === 'succeeded' && result !== null ? JSON.parse(result) : undefined
    }
    return results
  }

  /** Takes in the end of an attempt: record it, decide what it means, go on once the store has it. */
  attemptEnded({ run, startedAt }: Attempt, outcome: AttemptOutcome): void {
    run.attempt = null
    if (this.#isOver || this.#stopping === 'lost') return
    const { clock, time } = this.#execution.env
    const mono = clock.mono()
    const endedAt = time.at(mono)
    run.durationMs += endedAt - startedAt
    const state = this.#judge(run, outcome, endedAt)
    if (!run.isCommitted)
      this.#unsaved = [...this.#unsaved, run.attemptRecord({ turn: this.#execution.member.turn, state, startedAt, endedAt })]
    if (run.hasFailed && run.isVital) this.#cancelPeers(run)
    // The only attempt of a turn is written with its end.
    if (this.#unsaved.length === 0 || this.#runs.length === 1 || this.#runs.every((other) => other.isFinished)) this.#pump(mono)
    else this.#save(run).catch((error: unknown) => this.#giveUp(error))
  }

  /** Sets where the task stands now, and says how its attempt is recorded. */
  #judge(run: TaskRun, outcome: AttemptOutcome, endedAt: number): AttemptState {
    if (run.isCommitted) return this.#succeed(run, run.result)
    if (outcome.kind === 'returned') {
      try {
        return this.#succeed(run, encodeResult(outcome.value))
      } catch (error) {
        return this.#fail(run, Object.assign(error as PunctualError, { retryable: false }), 'failed', endedAt)
      }
    }
    if (outcome.kind === 'threw') return this.#fail(run, outcome.error, 'failed', endedAt)
    if (outcome.reason === 'timeout') return this.#fail(run, outcome.error, 'timeout', endedAt)
    // A handler that stopped at the signal of a shutdown has not used up an attempt: it runs again in the next turn.
    if (outcome.reason === 'shutdown') run.phase = 'waiting'
    else run.cancel(run.canceledBy)
    return 'canceled'
  }

  #succeed(run: TaskRun, result: string | null): AttemptState {
    const { events } = this.#execution.env
    run.phase = 'succeeded'
    run.result = result
    events.has('task.succeeded') &&
      events.emit('task.succeeded', { ...this.#execution.taskEvent(run), durationMs: run.durationMs })
    return 'succeeded'
  }

  #fail(run: TaskRun, error: unknown, state: 'failed' | 'timeout', endedAt: number): AttemptState {
    const { env, record } = this.#execution
    run.failures += 1
    run.error = errorRecord(error)
    const waitMs = this.#retryWait(run, error, record.scheduledAt - record.createdAt)
    run.phase = waitMs === null ? state : 'retrying'
    run.retryAt = waitMs === null ? 0 : endedAt + waitMs
    env.events.has('task.failed') &&
      env.events.emit('task.failed', { ...this.#execution.taskEvent(run), error: run.error, retryInMs: waitMs })
    return state
  }

  #retryWait(run: TaskRun, error: unknown, delayMs: number): number | null {
    const { env } = this.#execution
    const custom = run.task.retryFunction ?? this.#execution.retryFunction
    try {
      return retryDelay(run.settings.retry, { failures: run.failures, error, delayMs, random: env.random(), custom })
    } catch (thrown) {
      env.log.error('A retry strategy threw; the task is not retried', {
        job: this.#execution.record.job,
        task: run.name,
        error: errorRecord(thrown),
      })
      return null
    }
  }

  /** The end of one ends the others, but for those that are set to go on regardless. */
  #cancelPeers(failed: TaskRun): void {
    for (const run of this.#runs) {
      if (run === failed || run.isFinished || !run.isVital) continue
      if (run.attempt) {
        run.canceledBy = failed.name
        run.attempt.abort('peer-failed', failed.name)
      } else if (run.phase !== 'saving') {
        run.cancel(failed.name)
      }
    }
  }

  async #save(run: TaskRun): Promise<void> {
    const { phase } = run
    const attempts = this.#unsaved
    this.#unsaved = []
    run.phase = 'saving'
    const answer = await this.#execution.checkpoint({ attempts })
    if (this.#isOver) return
    run.phase = phase
    if (answer === 'lost') this.#end('abandoned')
    else this.#pump()
  }

  /** The store refuses to record what was done, and not because it is away: nothing that follows could be recorded either. */
  #giveUp(error: unknown): void {
    if (this.#isOver) return
    this.#stop()
    this.#listener.tasksRefused(error)
    for (const run of this.#runs) run.attempt?.abort('lost')
  }

  /** While others run, a retry that comes due runs in the same turn. */
  #awaitRetry(): void {
    const retryAt = this.#nextRetryAt()
    if (retryAt === null || this.#stopping) return
    const { env } = this.#execution
    this.#cancelTimer = env.clock.timer(Math.max(1, retryAt - env.time.now()), () => this.#pump())
  }

  #nextRetryAt(): number | null {
    let next: number | null = null
    for (const { phase, retryAt } of this.#runs) if (phase === 'retrying' && (next === null || retryAt < next)) next = retryAt
    return next
  }

  /** None runs any more: the turn ends, one way or another. */
  #conclude(): void {
    if (this.#stopping === 'cancel') for (const run of this.#runs) if (!run.isFinished) run.cancel(null)
    if (this.#stopping === 'cancel') this.#end('canceled')
    else if (this.#runs.every((run) => run.isFinished))
      this.#end(this.#runs.some((run) => run.hasFailed && run.isVital) ? 'failed' : 'completed')
    else if (this.#stopping === 'shutdown' && this.#canGoOn()) this.#end('released')
    else this.#end('parked', this.#parkMs())
  }

  /** How long until the earliest retry. */
  #parkMs(): number {
    const retryAt = this.#nextRetryAt()
    return retryAt === null ? 0 : Math.max(0, retryAt - this.#execution.env.time.now())
  }

  #end(end: TasksOutcome['end'], delayMs = 0): void {
    this.#stop()
    const failed = this.#runs.find((run) => run.hasFailed && run.isVital) ?? this.#runs.find((run) => run.phase === 'retrying')
    const last = this.#runs.at(-1) as TaskRun
    this.#listener.tasksEnded({
      end,
      delayMs,
      error: end === 'completed' ? null : (failed?.error ?? null),
      result: last.phase === 'succeeded' ? last.result : null,
      attempts: this.#unsaved,
    })
  }

  #stop(): void {
    this.#isOver = true
    this.#cancelTimer?.()
    this.#cancelDeadline?.()
  }
}
