import type { CreatedRow } from '../store/store.ts'
import type { DurationInput } from '../time/duration.ts'

/** The options of `result`. */
export interface ResultOptions {
  /** Rejects with `result.timeout` after this long; the work goes on. Default: waits without an end. */
  timeout?: DurationInput
  /** Stops waiting, and rejects with the signal's reason; the work goes on. */
  signal?: AbortSignal
}

/** One created or found occurrence. */
export class Handle<Result = unknown> {
  /** The id of the occurrence. */
  readonly id: string
  /** `created`, or what the call found and did: `existing`, `moved`, `replaced`, or `tombstoned` for a key whose record is gone. */
  readonly outcome: Exclude<CreatedRow['outcome'], 'refused'>
  /** The state at the time of the call; null for a key whose record is gone. */
  readonly state: CreatedRow['state']
  /** The key was taken by work with another payload. */
  readonly payloadDiffers: boolean
  readonly #wait: (id: string, options: ResultOptions | undefined) => Promise<unknown>

  constructor({ id, outcome, state, differs }: CreatedRow, wait: (id: string, options?: ResultOptions) => Promise<unknown>) {
    this.id = id
    // Only the work of handlers is refused.
    this.outcome = outcome as Handle['outcome']
    this.state = state
    this.payloadDiffers = differs
    this.#wait = wait
  }

  /**
   * Resolves with the result of the run, on whichever node it ends: the value of its last task, or the values of all tasks by name
   * where the job has several last ones. A run that ends otherwise rejects with `occurrence.failed`, `occurrence.dead`,
   * `occurrence.canceled`, `occurrence.skipped` or `occurrence.missed`; the recorded error is the `cause`.
   * @example const pdf = await (await punctual.enqueue(render, { order: 42 })).result({ timeout: '1m' })
   */
  result(options?: ResultOptions): Promise<Result> {
    return this.#wait(this.id, options) as Promise<Result>
  }
}
