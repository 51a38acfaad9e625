import { PunctualError } from '../errors.ts'
import { inZone } from './default-zone.ts'
import { InstantSet } from './instant-set.ts'
import { bind } from './interval.ts'
import { isSchedule, nextMs, previousMs, type Schedule, type ScheduleJson } from './schedule.ts'

const mostParts = 100

/** All instants of all parts; one that several parts have counts once. */
export function union(parts: readonly Schedule[]): UnionSchedule {
  if (!Array.isArray(parts) || parts.length === 0 || parts.length > mostParts || !parts.every(isSchedule)) {
    throw new PunctualError('option.invalid', `union takes a list of 1 to ${mostParts} schedules`, { field: 'parts' })
  }
  return new UnionSchedule([...parts])
}

export class UnionSchedule extends InstantSet {
  readonly parts: readonly Schedule[]

  constructor(parts: readonly Schedule[]) {
    super(null)
    this.parts = parts
  }

  get kind(): 'union' {
    return 'union'
  }

  /** Itself, when all parts have a start. */
  bind(anchor: number): UnionSchedule {
    const bound = this.parts.map((part) => bind(part, anchor))
    return bound.every((part, i) => part === this.parts[i]) ? this : new UnionSchedule(bound)
  }

  /** The same with this zone in each part that names none. */
  inZone(timezone: string): UnionSchedule {
    return new UnionSchedule(this.parts.map((part) => inZone(part, timezone)))
  }

  memberAfter(ms: number): number | null {
    let first: number | null = null
    for (const part of this.parts) {
      const instant = nextMs(part, ms)
      if (instant !== null && (first === null || instant < first)) first = instant
    }
    return first
  }

  memberBefore(ms: number): number | null {
    let last: number | null = null
    for (const part of this.parts) {
      const instant = previousMs(part, ms)
      if (instant !== null && (last === null || instant > last)) last = instant
    }
    return last
  }

  describe(): string {
    return this.parts.map((part) => part.describe()).join('; and: ')
  }

  toJSON(): ScheduleJson {
    return { kind: 'union', parts: this.parts.map((part) => part.toJSON()) }
  }
}
