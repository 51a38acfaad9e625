import type { AbortReason, Logger } from '../model/context.ts'
import type { OccurrenceRecord } from '../model/occurrence.ts'
import { Aborted } from './aborted.ts'
import type { Execution } from './execution.ts'
import { type ContextSource, TaskContext } from './task-context.ts'
import type { TaskRun } from './task-run.ts'
import { transaction } from './task-transaction.ts'
import type { Timed } from './timeouts.ts'

/** How a try went, before anything is decided about it. */
export type AttemptOutcome =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'aborted'; readonly reason: AbortReason; readonly error: Aborted }

export interface AttemptListener {
  attemptEnded(attempt: Attempt, outcome: AttemptOutcome): void
  resultsFor(run: TaskRun): Readonly<Record<string, unknown>>
}

/** One call of a handler, with its timeout and its signal. It ends when the handler does, or when it is written off. */
export class Attempt implements ContextSource, Timed {
  readonly run: TaskRun
  readonly startedAt: number
  readonly attempt: number
  readonly #execution: Execution
  readonly #listener: AttemptListener
  readonly #timeoutMs: number
  readonly #overdueAt: number
  #controller: AbortController | null = null
  #aborted: Aborted | null = null
  #cancelTimer: (() => void) | null = null
  #isOver = false

  /** @param mono The moment of its start by the monotonic clock. */
  constructor(execution: Execution, run: TaskRun, listener: AttemptListener, mono: number) {
    this.#execution = execution
    this.#listener = listener
    this.run = run
    this.attempt = run.attempts
    this.startedAt = execution.env.time.at(mono)
    this.#timeoutMs = execution.timeoutMs(run)
    this.#overdueAt = mono + this.#timeoutMs
  }

  /** Calls the handler. Its end is told later in any case, also when it returns or throws at once. */
  start(): void {
    const { clock, timeouts } = this.#execution.env
    timeouts.watch(this)
    let value: unknown
    try {
      const work = () => this.run.task.handler(new TaskContext(this))
      value = clock.run ? clock.run(`The handler of task ${this.task} of job ${this.record.job}`, work) : work()
    } catch (error) {
      value = Promise.reject(error)
    }
    Promise.resolve(value).then(
      (result) => this.#returned(result),
      (error: unknown) => this.#threw(error),
    )
  }

  /** Signals the handler. Unless it has to do with shutdown, a handler that goes on is written off after a while. */
  abort(reason: AbortReason, detail?: string | null): void {
    if (this.#isOver || (this.#aborted && this.#aborted.code !== 'shutdown')) return
    const aborted = new Aborted(reason, detail)
    this.#aborted = aborted
    this.#controller?.abort(aborted)
    // A handler that goes on through a shutdown still has its timeout.
    if (reason === 'shutdown') return
    const { clock, options } = this.#execution.env
    this.#cancelTimer?.()
    if (reason === 'lost') this.#end(abortOutcome(aborted))
    else this.#cancelTimer = clock.timer(options.writeOffMs, () => this.#end(abortOutcome(aborted)))
  }

  setTimer(): void {
    const { clock } = this.#execution.env
    if (this.#isOver || this.#cancelTimer) return
    this.#cancelTimer = clock.timer(Math.max(0, this.#overdueAt - clock.mono()), () =>
      this.abort('timeout', `${this.#timeoutMs} ms`),
    )
  }

  get record(): OccurrenceRecord {
    return this.#execution.record
  }
  get payload(): unknown {
    return this.#execution.payload
  }
  get results(): Readonly<Record<string, unknown>> {
    return this.#listener.resultsFor(this.run)
  }
  get task(): string {
    return this.run.name
  }
  get lastRunAt(): number | null {
    return this.#execution.member.lastRunAt
  }
  get log(): Logger {
    return this.#execution.log
  }

  /** Made when first asked for: most handlers never do. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  progress(done: number, message: string | null): void {
    if (this.#isCurrent) this.#execution.progress(this.run, done, message)
  }

  transaction<Tx, Value>(work: (tx: Tx) => Value | Promise<Value>): Promise<Value> {
    return this.#isCurrent ? transaction(this.#execution, this.run, this.startedAt, work) : Promise.reject(new Aborted('lost'))
  }

  /** A handler that was written off has no say any more, also when the same task is being tried again. */
  get #isCurrent(): boolean {
    return this.run.attempt === this
  }

  #returned(value: unknown): void {
    // Work that was finished during shutdown counts; work that was canceled or overran does not.
    const isVoid = this.#aborted && this.#aborted.code !== 'shutdown'
    this.#end(isVoid ? abortOutcome(this.#aborted as Aborted) : { kind: 'returned', value })
  }

  #threw(error: unknown): void {
    this.#end(this.#aborted ? abortOutcome(this.#aborted) : { kind: 'threw', error })
  }

  #end(outcome: AttemptOutcome): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cancelTimer?.()
    const { committing } = this.run
    // Whether a handler that was written off in the middle of its commit has succeeded, only the store can tell.
    if (committing) committing.then(() => this.#listener.attemptEnded(this, outcome))
    else this.#listener.attemptEnded(this, outcome)
  }
}

function abortOutcome(error: Aborted): AttemptOutcome {
  return { kind: 'aborted', reason: error.code, error }
}
