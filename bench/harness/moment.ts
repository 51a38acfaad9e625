/** Milliseconds of the machine's monotonic clock, with fractions: the same for all processes of one machine. */
export function mono(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/**
 * Milliseconds since the epoch with fractions. `Date.now` only tells whole ones, so that its next step is awaited once and the
 * monotonic clock is counted from there.
 */
export function preciseWall(): () => number {
  const before = Date.now()
  while (Date.now() === before);
  const offset = before + 1 - mono()
  return () => mono() + offset
}

/** User and system time of this process so far, all threads included, in microseconds. */
export function cpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
