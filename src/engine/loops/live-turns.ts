import type { Turn } from '../turn/turn.ts'

/**
 * The turns on this node whose end is not written yet. A list and not a map by ref: a map is copied again and again while
 * thousands pass through it, and each copy keeps its turns from being collected.
 */
export class LiveTurns implements Iterable<Turn> {
  readonly #turns: Turn[] = []

  get size(): number {
    return this.#turns.length
  }

  add(turn: Turn): void {
    turn.place = this.#turns.push(turn) - 1
  }

  /** The last one takes the place of the one that leaves. */
  delete(turn: Turn): void {
    if (this.#turns[turn.place] !== turn) return
    const last = this.#turns.pop() as Turn
    if (last === turn) return
    this.#turns[turn.place] = last
    last.place = turn.place
  }

  find(ref: number, n: number): Turn | undefined {
    return this.#turns.find(({ member }) => member.ref === ref && member.turn === n)
  }

  [Symbol.iterator](): Iterator<Turn> {
    return this.#turns.values()
  }
}
