/** Carries out work of the same key in the order in which it came. Work of other keys does not wait. */
export class KeyOrder {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Begins at once when no work of the key is under way, else after it, whether or not that has failed. */
  run<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
    const before = this.#last.get(key)
    const done = before ? before.then(work, work) : work()
    this.#last.set(key, done)
    const leave = () => {
      if (this.#last.get(key) === done) this.#last.delete(key)
    }
    done.then(leave, leave)
    return done
  }
}
