import type { Hint } from '../store.ts'

/** Transactions that are open for longer are found out of by looking. */
const longestMs = 60_000

/**
 * What was done lately in transactions of callers'. Whether and when it is committed only they know, so that others are told when
 * they say so. Nothing is forgotten when it is told: somebody else's commit may be the one that was told of.
 */
export class Untold {
  readonly #mono: () => number
  #due = Number.NEGATIVE_INFINITY
  #cancel = Number.NEGATIVE_INFINITY

  constructor(mono: () => number) {
    this.#mono = mono
  }

  get isAny(): boolean {
    return this.#isRecent(this.#due) || this.#isRecent(this.#cancel)
  }

  note(hints: readonly Hint[]): void {
    for (const { kind } of hints) {
      if (kind === 'due') this.#due = this.#mono()
      else if (kind === 'cancel') this.#cancel = this.#mono()
    }
  }

  /** What to tell at the store's time `now`. Rows came due when they were created, which was before their commit. */
  hints(now: number): readonly Hint[] {
    const due: Hint = { kind: 'due', at: now - longestMs }
    return this.#isRecent(this.#cancel) ? [due, { kind: 'cancel' }] : [due]
  }

  #isRecent(at: number): boolean {
    return this.#mono() - at < longestMs
  }
}
