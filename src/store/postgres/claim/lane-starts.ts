// The place in each lane where reads begin. Claimed rows leave dead entries at the head of the index until they
// are swept, which a long transaction elsewhere can put off for hours; a read that begins behind them does not walk them.
import { column } from '../connection/arrays.ts'

/** A look from the beginning is due so often, in case a row came in below the start without notice. */
const sweepMs = 1000
/** Rows may be committed this much after the time that they were due by. */
const marginMs = 2000

/** Rows of one kind and priority, and when the next of them is due. */
export interface Lane {
  readonly kind: number
  readonly priority: number
  readonly nextDue: number | null
}

export class LaneStarts {
  readonly #mono: (() => number) | null
  #starts = new Map<string, { readonly kind: number; readonly priority: number; readonly dueAt: number }>()
  #sweptAt = Number.NEGATIVE_INFINITY

  /** Without a clock that runs by itself every look is one from the beginning. */
  constructor(mono: (() => number) | null) {
    this.#mono = mono
  }

  /** The starts of these kinds as columns of a statement; empty when it is time for a look from the beginning. */
  columns(kinds: readonly number[]): (string | null)[] {
    const now = this.#mono?.() ?? Number.POSITIVE_INFINITY
    const isSweep = this.#mono === null || now - this.#sweptAt >= sweepMs
    if (isSweep) this.#sweptAt = now
    const starts = isSweep ? [] : [...this.#starts.values()].filter(({ kind }) => kinds.includes(kind))
    return [
      column(starts.map(({ kind }) => kind)),
      column(starts.map(({ priority }) => priority)),
      column(starts.map(({ dueAt }) => dueAt)),
    ]
  }

  /** Notes the next due of each lane that a claim has read: nothing is left below it. */
  note(now: number, lanes: readonly Lane[]): void {
    for (const { kind, priority, nextDue } of lanes) {
      const dueAt = Math.min(nextDue ?? now, now - marginMs)
      this.#starts.set(`${kind} ${priority}`, { kind, priority, dueAt })
    }
  }

  /** Notes work that is due then. */
  lower(at: number): void {
    for (const [name, start] of this.#starts) if (start.dueAt > at) this.#starts.set(name, { ...start, dueAt: at })
  }
}
