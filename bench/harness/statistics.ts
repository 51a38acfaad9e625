/** The summary of several runs: the median, and the lowest and highest. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function spread(values: readonly number[]): Spread {
  const sorted = ascending(values)
  return { median: percentile(sorted, 50), min: sorted[0] as number, max: sorted.at(-1) as number }
}

export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

/** The value that `p` percent of all values do not exceed, interpolated between neighbours. */
export function percentile(values: ArrayLike<number>, p: number): number {
  if (!(p >= 0 && p <= 100)) throw new RangeError(`A percentile lies between 0 and 100; got ${p}`)
  const sorted = ascending(values)
  const at = ((sorted.length - 1) * p) / 100
  const below = sorted[Math.floor(at)] as number
  const above = sorted[Math.ceil(at)] as number
  return below + (above - below) * (at - Math.floor(at))
}

function ascending(values: ArrayLike<number>): Float64Array {
  if (values.length === 0) throw new RangeError('There is nothing to take a percentile of')
  return Float64Array.from(values).sort()
}
