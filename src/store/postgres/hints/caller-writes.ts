import type { Hint } from '../../store.ts'

/** Transactions that are open for longer are found out of by looking. */
const longestMs = 60_000

/**
 * Recent writes in callers' transactions. Only callers know whether and when they commit, and announce it by `wake`. Nothing is forgotten
 * then: the `wake` may have been for another commit.
 */
export class CallerWrites {
  readonly #mono: () => number
  #due = Number.NEGATIVE_INFINITY
  readonly #cancels = new Map<string, number>()

  constructor(mono: () => number) {
    this.#mono = mono
  }

  get isAny(): boolean {
    return this.#isRecent(this.#due) || this.#nodes().length > 0
  }

  note(hints: readonly Hint[]): void {
    for (const hint of hints) {
      if (hint.kind === 'due') this.#due = this.#mono()
      else if (hint.kind === 'cancel') this.#cancels.set(hint.node, this.#mono())
    }
  }

  /** The hints at the store's time `now`. Rows came due when they were created, which was before their commit. */
  hints(now: number): readonly Hint[] {
    const due: Hint = { kind: 'due', at: now - longestMs }
    return [due, ...this.#nodes().map((node) => ({ kind: 'cancel' as const, node }))]
  }

  /** The nodes that run something that was canceled lately. */
  #nodes(): string[] {
    return [...this.#cancels].filter(([, at]) => this.#isRecent(at)).map(([node]) => node)
  }

  #isRecent(at: number): boolean {
    return this.#mono() - at < longestMs
  }
}
