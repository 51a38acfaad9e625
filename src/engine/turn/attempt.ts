import type { AbortReason } from '../../model/context.ts'
import type { AttemptState } from '../../model/lifecycle.ts'
import { Aborted } from './aborted.ts'
import { TaskContext } from './context.ts'
import type { TaskRun } from './task-run.ts'
import type { Timed } from './timeouts.ts'
import { transaction } from './transaction.ts'
import type { Turn } from './turn.ts'

/** One call of a handler, with its timeout and its signal. It ends when the handler does, or when it is written off. */
export class Attempt implements Timed {
  readonly turn: Turn
  readonly run: TaskRun
  /** 1 for the first try of the task. */
  readonly n: number
  readonly startedAt: number
  /** How the handler came out; `value` is what it returned or threw, or the reason of its abort. */
  outcome: 'returned' | 'threw' | AbortReason = 'returned'
  value: unknown = undefined
  /** Both are set when the turn takes in its end. */
  state: AttemptState = 'running'
  endedAt = 0
  readonly #overdueAt: number
  #controller: AbortController | null = null
  #aborted: Aborted | null = null
  #cancelTimer: (() => void) | null = null
  #isOver = false

  /** @param mono The moment of its start by the monotonic clock. */
  constructor(turn: Turn, run: TaskRun, mono: number) {
    this.turn = turn
    this.run = run
    this.n = run.attempts
    this.startedAt = turn.env.time.at(mono)
    this.#overdueAt = mono + turn.timeoutMs(run)
  }

  /** Calls the handler. Its end is reported later in any case, also when it returns or throws at once. */
  start(): void {
    this.turn.env.timeouts.watch(this)
    this.#call().then(
      (result) => this.#returned(result),
      (error: unknown) => this.#threw(error),
    )
  }

  /** Every throw in here, also of an odd thenable, becomes a rejection. */
  async #call(): Promise<unknown> {
    const { clock } = this.turn.env
    const work = () => this.run.task.handler(new TaskContext(this))
    return clock.run ? clock.run(`The handler of task ${this.run.task.name} of job ${this.turn.record.job}`, work) : work()
  }

  /** Signals the handler. Except for a shutdown, a handler that goes on is written off after a while. */
  abort(reason: AbortReason, detail?: string | null): void {
    if (this.#isOver || (this.#aborted && this.#aborted.code !== 'shutdown')) return
    const aborted = new Aborted(reason, detail)
    this.#aborted = aborted
    this.#controller?.abort(aborted)
    // A handler that goes on through a shutdown still has its timeout.
    if (reason === 'shutdown') return
    const { clock, options } = this.turn.env
    this.#cancelTimer?.()
    if (reason === 'lost') this.#end(reason, aborted)
    else this.#cancelTimer = clock.timer(options.writeOffMs, () => this.#end(reason, aborted))
  }

  setTimer(): void {
    const { clock } = this.turn.env
    if (this.#isOver || this.#cancelTimer) return
    this.#cancelTimer = clock.timer(Math.max(0, this.#overdueAt - clock.mono()), () =>
      this.abort('timeout', `${this.turn.timeoutMs(this.run)} ms`),
    )
  }

  /** Made at its first use: most handlers never need it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  progress(done: number, message: string | null): void {
    if (this.#isCurrent) this.turn.progress.note(this.run, done, message)
  }

  transaction<Tx, Value>(work: (tx: Tx) => Value | Promise<Value>): Promise<Value> {
    return this.#isCurrent ? transaction(this, work) : Promise.reject(new Aborted('lost'))
  }

  /** A handler that was written off writes nothing any more, also when the same task is being tried again. */
  get #isCurrent(): boolean {
    return this.run.attempt === this
  }

  #returned(value: unknown): void {
    const aborted = this.#aborted
    // Work that was finished during shutdown counts; work that was canceled or overran does not.
    if (aborted && aborted.code !== 'shutdown') this.#end(aborted.code, aborted)
    else this.#end('returned', value)
  }

  #threw(error: unknown): void {
    const aborted = this.#aborted
    if (aborted) this.#end(aborted.code, aborted)
    else this.#end('threw', error)
  }

  #end(outcome: Attempt['outcome'], value: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cancelTimer?.()
    this.outcome = outcome
    this.value = value
    const { committing } = this.run
    // Only the store knows whether a handler that was written off in the middle of its commit has succeeded.
    if (committing) committing.then(() => this.turn.attemptEnded(this))
    else this.turn.attemptEnded(this)
  }
}
