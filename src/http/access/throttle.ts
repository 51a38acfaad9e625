/** Counts events by key in windows of a fixed length. */
export class Throttle {
  readonly #most: number
  readonly #windowMs: number
  readonly #counts = new Map<string, { readonly from: number; count: number }>()

  constructor(most: number, windowMs: number) {
    this.#most = most
    this.#windowMs = windowMs
  }

  /** Notes one more. Null: it is within the limit; else the seconds until it is again. */
  note(key: string, now: number): number | null {
    const known = this.#current(key, now)
    known.count += 1
    return known.count > this.#most ? this.#secondsLeft(known, now) : null
  }

  /** The seconds until the key is within its limit; null when it is. */
  blockedFor(key: string, now: number): number | null {
    const known = this.#counts.get(key)
    if (!known || now - known.from >= this.#windowMs || known.count < this.#most) return null
    return this.#secondsLeft(known, now)
  }

  #current(key: string, now: number): { readonly from: number; count: number } {
    const known = this.#counts.get(key)
    if (known && now - known.from < this.#windowMs) return known
    // Bounded: whoever sends many keys forgets the others', never grows the map.
    if (this.#counts.size >= 10_000) this.#counts.clear()
    const fresh = { from: now, count: 0 }
    this.#counts.set(key, fresh)
    return fresh
  }

  #secondsLeft({ from }: { readonly from: number }, now: number): number {
    return Math.max(1, Math.ceil((from + this.#windowMs - now) / 1000))
  }
}
