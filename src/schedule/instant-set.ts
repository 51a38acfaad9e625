import { parseEnd } from '../time/instant.ts'
import type { Bounds } from './bounds.ts'
import type { MsSchedule, ScheduleJson } from './schedule.ts'

/** The shared part of the built-in kinds: a kind yields its instants, this class answers the queries within its bounds. */
export abstract class InstantSet implements MsSchedule {
  abstract readonly kind: string
  /** Window, exclusions and spread; null when there are none, which is the common case. */
  readonly bounds: Bounds | null

  constructor(bounds: Bounds | null) {
    this.bounds = bounds
  }

  /** The kind's own first instant strictly after, before bounds are applied. */
  abstract memberAfter(ms: number): number | null
  /** The kind's own last instant strictly before, before bounds are applied. */
  abstract memberBefore(ms: number): number | null
  abstract describe(): string
  abstract toJSON(): ScheduleJson

  nextMs(after: number): number | null {
    return this.bounds === null ? this.memberAfter(after) : this.bounds.next(this, after)
  }

  previousMs(before: number): number | null {
    return this.bounds === null ? this.memberBefore(before) : this.bounds.previous(this, before)
  }

  next(after: Date): Date | null {
    const ms = this.nextMs(parseEnd(after, 'after'))
    return ms === null ? null : new Date(ms)
  }

  previous(before: Date): Date | null {
    const ms = this.previousMs(parseEnd(before, 'before'))
    return ms === null ? null : new Date(ms)
  }

  *between(from: Date, to: Date): Generator<Date, void, undefined> {
    for (const ms of this.betweenMs(parseEnd(from, 'from'), parseEnd(to, 'to'))) yield new Date(ms)
  }

  *betweenMs(from: number, to: number): Generator<number, void, undefined> {
    for (let ms = this.nextMs(from - 1); ms !== null && ms < to; ms = this.nextMs(ms)) yield ms
  }
}
