/**
 * Thrown by built-in handlers whose means are away: nothing was tried. Neither an attempt nor a retry is counted, and the work goes back
 * as it was, with its place among what is due.
 */
export class Untried extends Error {
  override readonly name = 'Untried'
  readonly #isUntried = true

  /** Throws for no value: `instanceof` does for some proxies. */
  static is(thrown: unknown): thrown is Untried {
    return typeof thrown === 'object' && thrown !== null && #isUntried in thrown && thrown.#isUntried
  }
}
