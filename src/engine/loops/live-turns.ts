import type { Executor } from '../turn/executor.ts'

/**
 * The turns on this node whose end is not written yet. A list and not a map by ref: a map is copied again and again while
 * thousands pass through it, and each copy keeps its turns from being collected.
 */
export class LiveTurns implements Iterable<Executor> {
  readonly #turns: Executor[] = []

  get size(): number {
    return this.#turns.length
  }

  add(executor: Executor): void {
    executor.place = this.#turns.push(executor) - 1
  }

  /** The last one takes the place of the one that leaves. */
  delete(executor: Executor): void {
    if (this.#turns[executor.place] !== executor) return
    const last = this.#turns.pop() as Executor
    if (last === executor) return
    this.#turns[executor.place] = last
    last.place = executor.place
  }

  find(ref: number, turn: number): Executor | undefined {
    return this.#turns.find(({ member }) => member.ref === ref && member.turn === turn)
  }

  [Symbol.iterator](): Iterator<Executor> {
    return this.#turns.values()
  }
}
