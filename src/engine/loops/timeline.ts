import { isPlannable, type JobRecord, type VersionRecord, versionAt } from '../../model/job.ts'
import { bind } from '../../schedule/interval.ts'
import { restoreSchedule } from '../../schedule/restore.ts'
import { nextMs, type Schedule } from '../../schedule/schedule.ts'

/** An instant of a job, and the version that was in force at it. */
export interface Tick {
  readonly at: number
  readonly version: VersionRecord
}

/** The instants of a job over all its versions: each belongs to the one in force at it. */
export class Timeline {
  readonly #versions: readonly VersionRecord[]
  readonly #createdAt: number
  readonly #schedules = new Map<number, Schedule | null>()
  /** The stretch that was looked at last: a gap may have millions of instants, nearly all in one. */
  #stretch: Stretch | null = null

  constructor({ createdAt }: JobRecord, versions: readonly VersionRecord[]) {
    this.#versions = versions
    this.#createdAt = createdAt
  }

  /** The first instant strictly after, whichever version brings it. */
  next(after: number): Tick | null {
    for (let from = after; ; ) {
      const { version, schedule, end } = this.#stretchAt(from + 1)
      const at = schedule && nextMs(schedule, from)
      if (at !== null && at < end) return { at, version }
      if (end === Number.POSITIVE_INFINITY) return null
      from = end - 1
    }
  }

  /** The version's schedule, bound to the job's creation; null while it yields nothing. Throws for a kind this process does not know. */
  schedule({ version, spec }: VersionRecord): Schedule | null {
    const known = this.#schedules.get(version)
    if (known !== undefined) return known
    const schedule = spec.schedule && isPlannable(spec) ? bind(restoreSchedule(spec.schedule), this.#createdAt) : null
    this.#schedules.set(version, schedule)
    return schedule
  }

  #stretchAt(at: number): Stretch {
    if (this.#stretch && this.#stretch.from <= at && at < this.#stretch.end) return this.#stretch
    const version = versionAt(this.#versions, at)
    const end = Math.min(...this.#versions.map(({ effectiveAt }) => effectiveAt).filter((effectiveAt) => effectiveAt > at))
    this.#stretch = { from: at, end, version, schedule: this.schedule(version) }
    return this.#stretch
  }
}

/** A time in which one version is in force; its beginning may be earlier than `from`. */
interface Stretch {
  readonly from: number
  readonly end: number
  readonly version: VersionRecord
  readonly schedule: Schedule | null
}
