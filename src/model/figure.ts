// Figures: what became of work in a span of time, small enough to keep for every job and easy to add up.

/** How many values fell into each bucket of `bucketOf`. */
export type Histogram = Readonly<Record<number, number>>

export const figureCounts = ['completed', 'failed', 'canceled', 'skipped', 'missed', 'failedAttempts'] as const
export const figureSpreads = ['lateness', 'wait', 'run'] as const
export const gaugeNames = ['pending', 'waiting', 'running', 'retrying', 'dead', 'oldestDueMs'] as const

/** Counts and spreads of ends and starts. Missing values are zero. */
export type Figure = { readonly [Name in (typeof figureCounts)[number]]?: number } & {
  readonly [Name in (typeof figureSpreads)[number]]?: Histogram
} & {
  /** The highest that was seen of what stood in the store. */
  readonly gauge?: Readonly<Record<(typeof gaugeNames)[number], number>>
}

/** The bucket of a duration: two for each doubling, 0 for less than a millisecond. */
export function bucketOf(ms: number): number {
  return ms < 1 ? 0 : Math.min(64, Math.floor(Math.log2(ms) * 2) + 1)
}

/** A duration that stands for a bucket: its middle. */
function bucketMs(bucket: number): number {
  return bucket === 0 ? 0.5 : 2 ** ((bucket - 0.5) / 2)
}

export function sumFigures(figures: Iterable<Figure>): Figure {
  const sum: Record<string, unknown> = {}
  for (const figure of figures) addFigure(sum, figure)
  return sum as Figure
}

function addFigure(sum: Record<string, unknown>, figure: Figure): void {
  for (const name of figureCounts)
    if (figure[name] !== undefined) sum[name] = ((sum[name] as number | undefined) ?? 0) + figure[name]
  for (const name of figureSpreads)
    for (const [bucket, count] of Object.entries(figure[name] ?? {})) {
      sum[name] ??= {}
      const spread = sum[name] as Record<string, number>
      spread[bucket] = (spread[bucket] ?? 0) + count
    }
  for (const name of figure.gauge ? gaugeNames : []) {
    sum.gauge ??= {}
    const gauge = sum.gauge as Record<string, number>
    gauge[name] = Math.max(gauge[name] ?? 0, figure.gauge?.[name] ?? 0)
  }
}

/** Percentiles of a histogram, exact to about a fifth; null of an empty one. */
export interface Spread {
  readonly count: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

export function spreadOf(histogram: Histogram = {}): Spread | null {
  const buckets = Object.entries(histogram)
    .map(([bucket, count]) => ({ bucket: Number(bucket), count }))
    .sort((a, b) => a.bucket - b.bucket)
  const count = buckets.reduce((sum, one) => sum + one.count, 0)
  if (count === 0) return null
  const at = (share: number) => {
    let left = share * count
    for (const one of buckets) {
      left -= one.count
      if (left <= 0) return bucketMs(one.bucket)
    }
    return bucketMs((buckets.at(-1) as { bucket: number }).bucket)
  }
  return { count, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}
