import { type InstantInput, isoText, parseInstant } from '../time/instant.ts'
import { InstantSet } from './instant-set.ts'
import type { ScheduleJson } from './schedule.ts'

/** A single instant. */
export function once(instant: InstantInput): OnceSchedule {
  return new OnceSchedule(parseInstant(instant, 'once'))
}

export class OnceSchedule extends InstantSet {
  readonly #at: number

  constructor(at: number) {
    super(null)
    this.#at = at
  }

  get kind(): 'once' {
    return 'once'
  }

  memberAfter(ms: number): number | null {
    return ms < this.#at ? this.#at : null
  }

  memberBefore(ms: number): number | null {
    return ms > this.#at ? this.#at : null
  }

  describe(): string {
    return `Once, at ${isoText(this.#at)}`
  }

  toJSON(): ScheduleJson {
    return { kind: 'once', at: isoText(this.#at) }
  }
}

export function restoreOnce(json: ScheduleJson): OnceSchedule {
  return once(json.at as string)
}
