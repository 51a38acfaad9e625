import { bucketOf, type Figure, type figureCounts, type figureSpreads, type gaugeNames, sumFigures } from '../../model/figure.ts'
import type { FigureRow } from '../../store/store.ts'

type Count = (typeof figureCounts)[number]
type Spread = (typeof figureSpreads)[number]
type Gauge = Readonly<Record<(typeof gaugeNames)[number], number>>

const minute = 60_000
/** Jobs whose figures wait to be sent; those of further jobs are only in the sums. */
const mostJobs = 10_000
/** Rows that one call takes to the store. */
const rowsPerSend = 1000

/** The counts of one job in one minute, while they grow. */
class Tally {
  readonly tenant: string
  readonly job: string
  readonly at: number
  readonly counts: { [Name in Count]?: number } = {}
  readonly spreads: { [Name in Spread]?: Record<number, number> } = {}

  constructor(tenant: string, job: string, at: number) {
    this.tenant = tenant
    this.job = job
    this.at = at
  }

  count(name: Count, by: number): void {
    this.counts[name] = (this.counts[name] ?? 0) + by
  }

  spread(name: Spread, bucket: number): void {
    this.spreads[name] ??= {}
    const spread = this.spreads[name]
    spread[bucket] = (spread[bucket] ?? 0) + 1
  }

  row(): FigureRow {
    const figure: Figure = { ...this.counts, ...this.spreads }
    return { tenant: this.tenant, job: this.job, at: this.at, widthMs: minute, figure }
  }
}

/** Counts of this process by job and minute. The keeper sends them to the store with each beat, with the sums of tenants and all. */
export class Figures {
  #tallies = new Map<string, Tally>()
  #last: Tally = new Tally('', '', Number.NEGATIVE_INFINITY)
  #gauge: { readonly at: number; readonly gauge: Gauge } | null = null

  count(tenant: string, job: string, now: number, name: Count, by = 1): void {
    this.#of(tenant, job, now).count(name, by)
  }

  started(tenant: string, job: string, now: number, lateMs: number, isFirst: boolean): void {
    const tally = this.#of(tenant, job, now)
    const bucket = bucketOf(lateMs)
    if (isFirst) tally.spread('lateness', bucket)
    tally.spread('wait', bucket)
  }

  /** `name`: what it ended as, where it has. `runMs`: how long it ran, where it did. */
  ended(tenant: string, job: string, now: number, name: Count | null, hasFailed: boolean, runMs: number | null): void {
    const tally = this.#of(tenant, job, now)
    if (name) tally.count(name, 1)
    if (hasFailed) tally.count('failedAttempts', 1)
    if (runMs !== null) tally.spread('run', bucketOf(runMs))
  }

  gauge(now: number, gauge: Gauge): void {
    this.#gauge = { at: minuteOf(now), gauge }
  }

  /** Takes the rows to send, the oldest first; the rest goes with the next call. */
  take(): readonly FigureRow[] {
    this.#last = new Tally('', '', Number.NEGATIVE_INFINITY)
    const taken = [...this.#tallies].slice(0, rowsPerSend)
    for (const [key] of taken) this.#tallies.delete(key)
    const rows = taken.map(([, tally]) => tally.row())
    const gauges: FigureRow[] = this.#gauge
      ? [{ tenant: '', job: '', at: this.#gauge.at, widthMs: minute, figure: { gauge: this.#gauge.gauge } }]
      : []
    this.#gauge = null
    const sums = [
      ...summed(rows, ({ tenant }) => ({ tenant, job: '' })),
      ...summed([...rows, ...gauges], () => ({ tenant: '', job: '' })),
    ]
    return [...rows.filter(({ job }) => job !== ''), ...sums]
  }

  /** Whether more waits than one call takes. */
  get isFull(): boolean {
    return this.#tallies.size >= rowsPerSend
  }

  /** Successive ends are mostly of the same job. */
  #of(tenant: string, job: string, now: number): Tally {
    const last = this.#last
    if (last.job === job && last.tenant === tenant && now >= last.at && now < last.at + minute) return last
    const at = minuteOf(now)
    const key = `${at}\n${tenant}\n${job}`
    let tally = this.#tallies.get(key)
    if (!tally && this.#tallies.size >= mostJobs && job !== '') return this.#of(tenant, '', now)
    if (!tally) {
      tally = new Tally(tenant, job, at)
      this.#tallies.set(key, tally)
    }
    this.#last = tally
    return tally
  }
}

function minuteOf(now: number): number {
  return Math.floor(now / minute) * minute
}

function summed(rows: readonly FigureRow[], of: (row: FigureRow) => { tenant: string; job: string }): FigureRow[] {
  const groups = Map.groupBy(rows, (row) => `${row.at}\n${of(row).tenant}`)
  return [...groups.values()].map((group) => {
    const first = group[0] as FigureRow
    return { ...of(first), at: first.at, widthMs: minute, figure: sumFigures(group.map(({ figure }) => figure)) }
  })
}
