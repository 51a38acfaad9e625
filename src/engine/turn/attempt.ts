import type { AbortReason, Logger, Refs } from '../../model/context.ts'
import { cut, storable } from '../../model/cut.ts'
import type { AttemptState } from '../../model/lifecycle.ts'
import { limits } from '../../model/limits.ts'
import type { AuditEvent } from '../../store/store.ts'
import { onceInAttempt } from '../effect/once-in-attempt.ts'
import { Aborted } from './aborted.ts'
import { auditEvent } from './audit-event.ts'
import { Children } from './children.ts'
import { TaskContext } from './context.ts'
import { LogNotes } from './log-notes.ts'
import type { TaskRun } from './task-run.ts'
import type { Timed } from './timeouts.ts'
import type { TracedAttempt } from './trace-port.ts'
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
  /** Business events that are not in the store yet. */
  readonly events: AuditEvent[] = []
  #audited = 0
  /** Both are set when the turn takes in its end. */
  state: AttemptState = 'running'
  endedAt = 0
  readonly #mono: number
  #overdueAt: number
  #controller: AbortController | null = null
  #aborted: Aborted | null = null
  #cancelTimer: (() => void) | null = null
  #isOver = false
  #children: Children | null = null
  #log: Logger | null = null
  #notes: LogNotes | null = null

  /** @param mono The moment of its start by the monotonic clock. */
  constructor(turn: Turn, run: TaskRun, mono: number) {
    this.turn = turn
    this.run = run
    this.n = run.attempts
    this.startedAt = turn.env.time.at(mono)
    this.#mono = mono
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
    const handle = () => this.run.task.handler(new TaskContext(this))
    const { port } = this.turn.env.trace
    const work = port ? () => port.run(this.#traced(), async () => handle()) : handle
    return clock.run ? clock.run(`The handler of task ${this.run.task.name} of job ${this.turn.record.job}`, work) : work()
  }

  #traced(): TracedAttempt {
    return { record: this.turn.record, turn: this.turn.n, task: this.run.task.name, n: this.n }
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

  /** Its timeout counts from the call of the returned function. Until then only the execution's timeout does. */
  holdTimeout(): () => void {
    const { clock } = this.turn.env
    const latest = this.#mono + this.turn.settings.executionTimeoutMs
    this.#overdueAt = latest
    return () => {
      if (this.#aborted) return
      this.#overdueAt = Math.min(latest, clock.mono() + this.turn.timeoutMs(this.run))
      this.#cancelTimer?.()
      this.#cancelTimer = null
      this.setTimer()
    }
  }

  /** Made at its first use: most handlers never need it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  /** Made at its first use. */
  get children(): Children {
    this.#children ??= new Children(this)
    return this.#children
  }

  progress(done: number, message: string | null): void {
    if (!this.isCurrent) return
    const text = message === null ? null : cut(this.turn.redacted(storable(message)), limits.errorText)
    this.turn.progress.note(this.run, done, text)
  }

  /** Made at its first use. */
  get log(): Logger {
    this.#log ??= this.turn.logger((level, message, fields) => this.#keep(level, message, fields))
    return this.#log
  }

  #keep(level: keyof Logger, message: string, fields: object): void {
    if (level === 'debug' || !this.isCurrent) return
    if (!this.#notes) {
      this.#notes = new LogNotes(this)
      this.turn.addLog(this.#notes)
    }
    this.#notes.add(level, message, fields)
  }

  transaction<Tx, Value>(work: (tx: Tx) => Value | Promise<Value>): Promise<Value> {
    return this.isCurrent ? transaction(this, work) : Promise.reject(new Aborted('lost'))
  }

  audit(event: string, refs: Refs | undefined, data: unknown): void {
    const entry = auditEvent(this, this.#audited, { event, refs, data })
    if (!this.isCurrent) return
    this.#audited += 1
    this.events.push(entry)
  }

  once(key: string, effect: unknown, options: unknown): Promise<unknown> {
    return this.isCurrent ? onceInAttempt(this, key, effect, options) : Promise.reject(new Aborted('lost'))
  }

  /** Rejects with the reason of the signal, which is on its way: the store has refused what the turn wanted to write. */
  stopped(): Promise<never> {
    const { signal } = this
    this.turn.env.events.emit('signal.refused', null)
    return new Promise((_, reject) => {
      const stop = () => reject(signal.aborted ? signal.reason : new Aborted('lost'))
      // The handler of an attempt that is over gets no signal any more.
      if (signal.aborted || this.#isOver) stop()
      else signal.addEventListener('abort', stop, { once: true })
    })
  }

  /** How long it may still take. */
  get leftMs(): number {
    return Math.max(0, this.#overdueAt - this.turn.env.clock.mono())
  }

  /** A handler that was written off writes nothing any more, also when the same task is being tried again. */
  get isCurrent(): boolean {
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
