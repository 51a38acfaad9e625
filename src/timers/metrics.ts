/** The bounds of the histograms, in milliseconds. */
const boundsMs = [1, 5, 10, 25, 50, 100, 250, 500, 1000, 5000, 30_000, 60_000, 600_000, 3_600_000, 86_400_000] as const

/** Counts of values by their size, as Prometheus has them: each bucket holds those up to its bound. */
export interface Histogram {
  readonly buckets: readonly { readonly leMs: number; readonly count: number }[]
  readonly sumMs: number
  readonly count: number
}

/** The numbers of a timer service since its start. Counters only grow. */
export interface TimerMetrics {
  /** Commands that arrived, those that came again included (`timer.commands.received`). */
  readonly commandsReceived: number
  /** Commands by outcome (`timer.schedules.processed`). */
  readonly schedulesProcessed: Readonly<Record<ScheduleOutcome, number>>
  /** Commands that can never be carried out: terminated, and kept with the reason. */
  readonly poison: number
  /** Commands that were put back since the store did not answer. */
  readonly commandsRetried: number
  /** Events that the broker has taken. */
  readonly fired: number
  /** Of these, the ones that the broker had already. */
  readonly duplicates: number
  /** Events that the broker will never take; their timers are dead letters. */
  readonly refused: number
  /** Between the command and the event: reachedAt − registeredAt. */
  readonly delay: Histogram
  /** Between dueAt and the broker's confirmation. */
  readonly lateness: Histogram
  /** Looks for due timers, those that found none included (`timer.polling.duration`). */
  readonly polling: Histogram
  /** When the last look ended: before the first one, the start of the service. Null where only commands are handled. */
  readonly lastPollAt: Date | null
}

/** `ignored`: reached before, or an older version. */
export type ScheduleOutcome = 'created' | 'moved' | 'ignored' | 'canceled'

class Samples {
  readonly #counts = boundsMs.map(() => 0)
  #sumMs = 0
  #count = 0

  add(ms: number): void {
    const value = Math.max(0, ms)
    this.#sumMs += value
    this.#count += 1
    const at = boundsMs.findIndex((bound) => value <= bound)
    if (at >= 0) (this.#counts[at] as number)++
  }

  view(): Histogram {
    let sum = 0
    const buckets = boundsMs.map((leMs, at) => {
      sum += this.#counts[at] as number
      return { leMs, count: sum }
    })
    return { buckets, sumMs: this.#sumMs, count: this.#count }
  }
}

/** Gathers the numbers of one timer service. */
export class TimerCounters {
  received = 0
  poison = 0
  retried = 0
  fired = 0
  duplicates = 0
  refused = 0
  lastPollAt: number | null = null
  readonly outcomes: Record<ScheduleOutcome, number> = { created: 0, moved: 0, ignored: 0, canceled: 0 }
  readonly delay = new Samples()
  readonly lateness = new Samples()
  readonly polling = new Samples()

  view(): TimerMetrics {
    return {
      commandsReceived: this.received,
      schedulesProcessed: { ...this.outcomes },
      poison: this.poison,
      commandsRetried: this.retried,
      fired: this.fired,
      duplicates: this.duplicates,
      refused: this.refused,
      delay: this.delay.view(),
      lateness: this.lateness.view(),
      polling: this.polling.view(),
      lastPollAt: this.lastPollAt === null ? null : new Date(this.lastPollAt),
    }
  }
}
