import type { AbortReason } from '../model/context.ts'
import { Aborted } from './aborted.ts'
import type { Timeout, Timeouts } from './timeouts.ts'

/** How a try went, before anything is decided about it. */
export type AttemptOutcome =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'aborted'; readonly reason: AbortReason; readonly error: Aborted }

/** One call of a handler, with its timeout and its signal. It ends when the handler does, or when it is written off. */
export class Attempt {
  readonly #timeouts: Timeouts
  readonly #writeOffMs: number
  #controller: AbortController | null = null
  #aborted: Aborted | null = null
  #timeout: Timeout | null = null
  #resolve: ((outcome: AttemptOutcome) => void) | null = null

  constructor(timeouts: Timeouts, writeOffMs: number) {
    this.#timeouts = timeouts
    this.#writeOffMs = writeOffMs
  }

  /** Made when first asked for: most handlers never do. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  run(work: () => unknown, timeoutMs: number): Promise<AttemptOutcome> {
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.#timeout = this.#timeouts.start(timeoutMs, () => this.abort('timeout', `${timeoutMs} ms`))
      try {
        const value = work()
        if (isThenable(value)) value.then(this.#returned, this.#threw)
        else this.#returned(value)
      } catch (error) {
        this.#threw(error)
      }
    })
  }

  /** Signals the handler. Unless it has to do with shutdown, a handler that goes on is written off after a while. */
  abort(reason: AbortReason, detail?: string | null): void {
    if (!this.#resolve || (this.#aborted && this.#aborted.code !== 'shutdown')) return
    this.#aborted = new Aborted(reason, detail)
    this.#controller?.abort(this.#aborted)
    // A handler that goes on through a shutdown still has its timeout.
    if (reason === 'shutdown') return
    this.#timeout?.cancel()
    if (reason === 'lost') this.#end(this.#abortOutcome(this.#aborted))
    else this.#timeout = this.#timeouts.start(this.#writeOffMs, () => this.#end(this.#abortOutcome(this.#aborted as Aborted)))
  }

  readonly #returned = (value: unknown): void => {
    // Work that was finished during shutdown counts; work that was canceled or overran does not.
    this.#end(
      this.#aborted && this.#aborted.code !== 'shutdown' ? this.#abortOutcome(this.#aborted) : { kind: 'returned', value },
    )
  }

  readonly #threw = (error: unknown): void => {
    this.#end(this.#aborted ? this.#abortOutcome(this.#aborted) : { kind: 'threw', error })
  }

  #abortOutcome(error: Aborted): AttemptOutcome {
    return { kind: 'aborted', reason: error.code, error }
  }

  #end(outcome: AttemptOutcome): void {
    this.#timeout?.cancel()
    this.#resolve?.(outcome)
    this.#resolve = null
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
