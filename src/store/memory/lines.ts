import { inLine } from '../rules/door.ts'
import type { Entry } from './entry.ts'

/** For each key, the entries that wait for it, in order. */
export class Lines {
  readonly #lines = new Map<string, Entry[]>()

  add(key: string, entry: Entry): void {
    const line = this.#lines.get(key)
    if (!line) this.#lines.set(key, [entry])
    else line.splice(placeOf(line, entry), 0, entry)
  }

  remove(key: string, entry: Entry): void {
    const line = this.#lines.get(key)
    const at = line ? placeOf(line, entry) : -1
    if (line?.[at] !== entry) return
    if (line.length === 1) this.#lines.delete(key)
    else line.splice(at, 1)
  }

  first(key: string): Entry | undefined {
    return this.#lines.get(key)?.[0]
  }

  /** The line in order. Rows that were read may leave it meanwhile. */
  *of(key: string): Generator<Entry, void, undefined> {
    const line = this.#lines.get(key) ?? []
    for (let at = 0; at < line.length; ) {
      const entry = line[at] as Entry
      yield entry
      if (line[at] === entry) at += 1
    }
  }

  /** Whether any of these kinds waits for the key. */
  has(key: string, kinds: readonly string[]): boolean {
    return (this.#lines.get(key) ?? []).some(({ kind }) => kinds.includes(kind))
  }
}

/** The place of an entry in a line. */
function placeOf(line: readonly Entry[], entry: Entry): number {
  let [low, high] = [0, line.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (inLine(line[middle] as Entry, entry) < 0) low = middle + 1
    else high = middle
  }
  return low
}
