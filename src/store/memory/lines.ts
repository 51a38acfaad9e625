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

  /** The line as it is now, however it changes while it is read. */
  *of(key: string): Generator<Entry, void, undefined> {
    yield* [...(this.#lines.get(key) ?? [])]
  }

  *all(): Generator<Entry, void, undefined> {
    for (const line of [...this.#lines.values()]) yield* [...line]
  }

  /** Whether any of these kinds waits for the key. */
  has(key: string, kinds: readonly string[]): boolean {
    return (this.#lines.get(key) ?? []).some(({ kind }) => kinds.includes(kind))
  }
}

/** Where an entry stands in a line, or would. */
function placeOf(line: readonly Entry[], entry: Entry): number {
  let [low, high] = [0, line.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (inLine(line[middle] as Entry, entry) < 0) low = middle + 1
    else high = middle
  }
  return low
}
