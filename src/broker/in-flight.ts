/** Counts work under way, and lets callers wait until there is room or none is left. */
export class InFlight {
  readonly #most: number
  #count = 0
  #waiters: (() => void)[] = []

  constructor(most: number) {
    this.#most = most
  }

  get free(): number {
    return this.#most - this.#count
  }

  get isFull(): boolean {
    return this.free <= 0
  }

  /** Resolves when fewer than the most are under way. */
  async room(): Promise<void> {
    while (this.isFull) await this.#change()
  }

  /** Resolves when none is under way. */
  async idle(): Promise<void> {
    while (this.#count > 0) await this.#change()
  }

  /** Starts work that never rejects. */
  add(work: Promise<void>): void {
    this.#count += 1
    void work.then(() => {
      this.#count -= 1
      for (const resolve of this.#waiters.splice(0)) resolve()
    })
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve))
  }
}
