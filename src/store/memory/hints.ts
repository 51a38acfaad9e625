import type { Hint, Hints } from '../store.ts'

/** Hints within the process: every listener gets them at once. */
export class MemoryHints implements Hints {
  readonly isLive = true
  readonly #now: () => number
  readonly #listeners = new Set<(hint: Hint) => void>()
  #held: Hint[] | null = null

  constructor(now: () => number) {
    this.#now = now
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async wake(): Promise<void> {
    this.send({ kind: 'due', at: this.#now() })
  }

  send(hint: Hint): void {
    if (this.#held && hint.kind === 'due' && hint.at <= this.#now()) this.#held.push(hint)
    else for (const listener of this.#listeners) listener(hint)
  }

  /** Holds back hints at work that is due now, and sends them afterwards if some is left. */
  holding<Answer>(work: () => { readonly answer: Answer; readonly isWorkLeft: boolean }): Answer {
    this.#held = []
    const { answer, isWorkLeft } = work()
    const [hint] = this.#held
    this.#held = null
    if (hint && isWorkLeft) this.send(hint)
    return answer
  }
}
