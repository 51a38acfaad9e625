import { type Clock, tick } from '../../time/clock.ts'
import { isTransient } from '../node/transient.ts'

/** The owner of an item, who gets its answer. */
export interface Asker<Answer> {
  answered(answer: Answer): void
  refused(error: unknown): void
}

/**
 * Makes one call of what many ask for at the same time: items gather while a call is under way, or until the current burst
 * of work is done. When a call of several fails by one of them, each is tried on its own, so every item gets its own answer;
 * others do not wait for that.
 */
export class Batcher<Item, Answer> {
  readonly #clock: Clock
  readonly #limit: () => number
  readonly #call: (items: readonly Item[]) => Promise<readonly Answer[]>
  #items: Item[] = []
  /** The asker of each item, at the same place. */
  #askers: Asker<Answer>[] = []
  #isCalling = false
  #isArmed = false

  constructor(clock: Clock, limit: () => number, call: (items: readonly Item[]) => Promise<readonly Answer[]>) {
    this.#clock = clock
    this.#limit = limit
    this.#call = call
  }

  add(item: Item): Promise<Answer> {
    return new Promise((answered, refused) => this.addFor({ answered, refused }, item))
  }

  addFor(asker: Asker<Answer>, item: Item): void {
    this.#items.push(item)
    this.#askers.push(asker)
    this.#arm()
  }

  #arm(): void {
    if (this.#isArmed || this.#isCalling || this.#items.length === 0) return
    this.#isArmed = true
    tick(this.#clock, () => {
      this.#isArmed = false
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    this.#isCalling = true
    const limit = this.#limit()
    const [items, askers] = [this.#items, this.#askers]
    this.#items = items.splice(limit)
    this.#askers = askers.splice(limit)
    await this.#callFor(items, askers)
    this.#isCalling = false
    this.#arm()
  }

  async #callFor(items: readonly Item[], askers: readonly Asker<Answer>[]): Promise<void> {
    let answers: readonly Answer[]
    try {
      answers = await this.#call(items)
    } catch (error) {
      if (items.length === 1 || isTransient(error)) for (const asker of askers) asker.refused(error)
      else for (const [at, item] of items.entries()) void this.#callFor([item], [askers[at] as Asker<Answer>])
      return
    }
    for (let at = 0; at < askers.length; at++) (askers[at] as Asker<Answer>).answered(answers[at] as Answer)
  }
}
