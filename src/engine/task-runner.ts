import { PunctualError } from '../errors.ts'
import type { AbortReason } from '../model/context.ts'
import { errorRecord } from '../model/error-record.ts'
import type { AttemptState } from '../model/lifecycle.ts'
import type { AttemptRecord } from '../model/occurrence.ts'
import { encodeResult } from '../model/payload.ts'
import type { ErrorRecord } from '../model/report.ts'
import { retryDelay } from '../model/retry.ts'
import { Aborted } from './aborted.ts'
import { Attempt, type AttemptOutcome } from './attempt.ts'
import type { Execution } from './execution.ts'
import { TaskContext } from './task-context.ts'
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

/** Runs the tasks of one turn: starts what may start, takes in what ended, until all have finished or none can go on. */
export class TaskRunner {
  readonly #execution: Execution
  readonly #runs: readonly TaskRun[]
  #byName: ReadonlyMap<string, TaskRun> | null = null
  #unsaved: AttemptRecord[] = []
  #stopping: AbortReason | null = null
  #cancelTimer: (() => void) | null = null
  #cancelDeadline: (() => void) | null = null
  #resolve: ((outcome: TasksOutcome) => void) | null = null
  #reject: ((error: unknown) => void) | null = null

  constructor(execution: Execution) {
    this.#execution = execution
    this.#runs = execution.runs
  }

  run(): Promise<TasksOutcome> {
    const { env, settings } = this.#execution
    if (this.#runs.length > 1)
      this.#cancelDeadline = env.clock.timer(settings.executionTimeoutMs, () =>
        this.abort('timeout', `execution, ${settings.executionTimeoutMs} ms`),
      )
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      if (this.#execution.member.turn > 1) this.#makeRetryDue()
      this.#pump()
    })
  }

  /** The occurrence came due, and so did its earliest retry: a person may have moved it, and this node's time is an estimate. */
  #makeRetryDue(): void {
    const [first] = this.#runs.filter((run) => run.phase === 'retrying').sort((a, b) => a.retryAt - b.retryAt)
    if (first && !this.#canGoOn()) first.retryAt = Math.min(first.retryAt, this.#execution.env.time.now())
  }

  /** Signals every running task and starts no other. */
  abort(reason: AbortReason, detail?: string | null): void {
    if (!this.#resolve || this.#stopping === 'lost' || (this.#stopping === 'cancel' && reason !== 'lost')) return
    this.#stopping = reason
    if (reason === 'lost') this.#end('abandoned')
    for (const run of this.#runs) run.attempt?.abort(reason, detail)
    this.#pump()
  }

  #pump(): void {
    if (!this.#resolve) return
    this.#cancelTimer?.()
    const failed = this.#runs.find((run) => run.hasFailed && run.isVital)
    if (failed) this.#cancelPeers(failed)
    if (!this.#stopping) this.#startWhatMay()
    if (this.#runs.some((run) => run.isActive)) this.#awaitRetry()
    else this.#conclude()
  }

  #startWhatMay(): void {
    const now = this.#execution.env.time.now()
    for (const run of this.#runs) {
      if (run.phase === 'retrying' && run.retryAt <= now) this.#start(run)
      if (run.phase !== 'waiting') continue
      const blocker = this.#blocker(run)
      if (blocker) run.cancel(blocker.canceledBy ?? blocker.name)
      else if (this.#mayStart(run)) this.#start(run)
    }
  }

  /** The predecessor whose bad end means that this task will not run. */
  #blocker(run: TaskRun): TaskRun | undefined {
    if (!run.isVital) return undefined
    return this.#predecessors(run).find((before) => before.phase === 'canceled' || (before.hasFailed && before.isVital))
  }

  #mayStart(run: TaskRun): boolean {
    return this.#predecessors(run).every((before) => before.isFinished) && !this.#runs.some((other) => other.holdsOthers)
  }

  /** Whether a task that waits for nothing is left. */
  #canGoOn(): boolean {
    return this.#runs.some((run) => run.phase === 'waiting' && this.#mayStart(run))
  }

  #predecessors(run: TaskRun): TaskRun[] {
    return run.after.map((name) => this.#runOf(name))
  }

  #runOf(name: string): TaskRun {
    this.#byName ??= new Map(this.#runs.map((run) => [run.name, run]))
    return this.#byName.get(name) as TaskRun
  }

  #start(run: TaskRun): void {
    const { env, record, member, settings } = this.#execution
    const startedAt = env.time.now()
    const attempt = new Attempt(env.timeouts, env.options.writeOffMs)
    run.phase = 'running'
    run.attempt = attempt
    run.attempts += 1
    const context = new TaskContext({
      record,
      payload: this.#execution.payload,
      results: this.#resultsFor(run),
      task: run.name,
      attempt: run.attempts,
      startedAt,
      lastRunAt: member.lastRunAt,
      log: () => this.#execution.log,
      signal: () => attempt.signal,
      // A handler that was written off has no say any more, also when the same task is being tried again.
      progress: (done, message) => run.attempt === attempt && this.#execution.progress(run, done, message),
      transaction: (work) =>
        run.attempt === attempt ? this.#transaction(run, startedAt, work) : Promise.reject(new Aborted('lost')),
    })
    env.events.has('task.started') && env.events.emit('task.started', this.#execution.taskEvent(run))
    const timeoutMs =
      this.#runs.length > 1 ? run.settings.timeoutMs : Math.min(run.settings.timeoutMs, settings.executionTimeoutMs)
    const ended = (outcome: AttemptOutcome) => this.#ended(run, startedAt, outcome)
    // Whether a handler that was written off in the middle of its commit has succeeded, only the store can tell.
    attempt
      .run(() => run.task.handler(context), timeoutMs)
      .then((outcome) => (run.committing ? run.committing.then(() => ended(outcome)) : ended(outcome)))
  }

  #resultsFor(run: TaskRun): Readonly<Record<string, unknown>> {
    const results: Record<string, unknown> = {}
    for (const name of run.task.after ?? []) {
      const { phase, result } = this.#runOf(name)
      results[name] = phase === 'succeeded' && result !== null ? JSON.parse(result) : undefined
    }
    return results
  }

  /** Takes in the end of an attempt: record it, decide what it means, go on once the store has it. */
  #ended(run: TaskRun, startedAt: number, outcome: AttemptOutcome): void {
    run.attempt = null
    if (!this.#resolve) return
    const endedAt = this.#execution.env.time.now()
    run.durationMs += endedAt - startedAt
    const state = this.#judge(run, outcome, endedAt)
    const { result, error, retryAt, phase } = run
    if (!run.isCommitted) {
      const failed = phase === 'failed' || phase === 'timeout' || phase === 'retrying'
      this.#unsaved.push({
        turn: this.#execution.member.turn,
        task: run.name,
        n: run.attempts,
        state,
        startedAt,
        endedAt,
        result: phase === 'succeeded' ? result : null,
        error: failed ? error : null,
        retryAt: phase === 'retrying' ? retryAt : null,
      })
    }
    if (run.hasFailed && run.isVital) this.#cancelPeers(run)
    // The only attempt of a turn is written with its end.
    if (this.#unsaved.length === 0 || this.#runs.length === 1 || this.#runs.every((other) => other.isFinished)) this.#pump()
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
    if (!this.#resolve) return
    run.phase = phase
    if (answer === 'lost') this.#end('abandoned')
    else this.#pump()
  }

  /** The store refuses to record what was done, and not because it is away: nothing that follows could be recorded either. */
  #giveUp(error: unknown): void {
    this.#reject?.(error)
    this.#end('abandoned')
    for (const run of this.#runs) run.attempt?.abort('lost')
  }

  async #transaction<Tx, Value>(run: TaskRun, startedAt: number, work: (tx: Tx) => Value): Promise<Value> {
    const { env, member } = this.#execution
    if (!env.store.abilities.has('tx'))
      throw new PunctualError(
        'transaction.unsupported',
        `The ${env.store.name} store has no transactions to share; use a store with the ability tx, such as sqlite`,
        { store: env.store.name },
      )
    if (run.isCommitted || run.committing)
      throw new PunctualError(
        'transaction.invalid',
        'ctx.transaction was used before in this attempt; it ends the task and can be used once',
        { task: run.name },
      )
    let value!: Value
    const attempt: AttemptRecord = {
      turn: member.turn,
      task: run.name,
      n: run.attempts,
      state: 'succeeded',
      startedAt,
      endedAt: env.time.now(),
      result: null,
      error: null,
      retryAt: null,
    }
    const committed = this.#execution.commit(attempt, (tx) => {
      value = work(tx as Tx)
      run.result = encodeResult(value)
      return run.result
    })
    run.committing = committed.then(
      (answer) => {
        run.isCommitted = answer === 'ok'
      },
      () => {},
    )
    try {
      if ((await committed) !== 'ok') throw new Aborted('lost')
      return value
    } finally {
      run.committing = null
    }
  }

  /** While others run, a retry that comes due runs in the same turn. */
  #awaitRetry(): void {
    const retries = this.#runs.filter((run) => run.phase === 'retrying').map((run) => run.retryAt)
    if (retries.length === 0 || this.#stopping) return
    const { env } = this.#execution
    this.#cancelTimer = env.clock.timer(Math.max(1, Math.min(...retries) - env.time.now()), () => this.#pump())
  }

  /** None runs any more: the turn ends, one way or another. */
  #conclude(): void {
    if (this.#stopping === 'cancel') for (const run of this.#runs) if (!run.isFinished) run.cancel(null)
    const open = this.#runs.filter((run) => !run.isFinished)
    if (this.#stopping === 'cancel') this.#end('canceled')
    else if (open.length === 0) this.#end(this.#runs.some((run) => run.hasFailed && run.isVital) ? 'failed' : 'completed')
    else if (this.#stopping === 'shutdown' && this.#canGoOn()) this.#end('released')
    else this.#end('parked', this.#parkMs(open))
  }

  /** How long until the earliest retry. */
  #parkMs(open: readonly TaskRun[]): number {
    const retries = open.filter((run) => run.phase === 'retrying').map((run) => run.retryAt)
    return retries.length === 0 ? 0 : Math.max(0, Math.min(...retries) - this.#execution.env.time.now())
  }

  #end(end: TasksOutcome['end'], delayMs = 0): void {
    this.#cancelTimer?.()
    this.#cancelDeadline?.()
    const failed = this.#runs.find((run) => run.hasFailed && run.isVital) ?? this.#runs.find((run) => run.phase === 'retrying')
    const last = this.#runs.at(-1) as TaskRun
    this.#resolve?.({
      end,
      delayMs,
      error: end === 'completed' ? null : (failed?.error ?? null),
      result: last.phase === 'succeeded' ? last.result : null,
      attempts: this.#unsaved,
    })
    this.#resolve = null
  }
}
