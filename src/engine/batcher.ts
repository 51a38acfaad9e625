import type { Clock } from '../time/clock.ts'
import { isTransient } from './transient.ts'

interface Waiting<Item, Answer> {
  readonly item: Item
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Makes one call of what many ask for at the same time: items gather while a call is under way, or until the current burst
 * of work is done. When a call of several fails by one of them, each is tried on its own, so that everyone gets their own answer.
 */
export class Batcher<Item, Answer> {
  readonly #clock: Clock
  readonly #limit: () => number
  readonly #call: (items: readonly Item[]) => Promise<readonly Answer[]>
  #waiting: Waiting<Item, Answer>[] = []
  #isCalling = false
  #isArmed = false

  constructor(clock: Clock, limit: () => number, call: (items: readonly Item[]) => Promise<readonly Answer[]>) {
    this.#clock = clock
    this.#limit = limit
    this.#call = call
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#arm()
    })
  }

  #arm(): void {
    if (this.#isArmed || this.#isCalling) return
    this.#isArmed = true
    this.#clock.soon(() => {
      this.#isArmed = false
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    this.#isCalling = true
    while (this.#waiting.length > 0) await this.#callFor(this.#waiting.splice(0, this.#limit()))
    this.#isCalling = false
  }

  async #callFor(batch: readonly Waiting<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#call(batch.map(({ item }) => item))
      for (const [at, { resolve }] of batch.entries()) resolve(answers[at] as Answer)
    } catch (error) {
      if (batch.length === 1 || isTransient(error)) for (const { reject } of batch) reject(error)
      else for (const one of batch) await this.#callFor([one])
    }
  }
}
