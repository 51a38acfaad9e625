/** Milliseconds of the machine's monotonic clock, with fractions: the same for all processes of one machine. */
export function mono(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/**
 * Milliseconds since the epoch with fractions. `Date.now` returns whole ones only: some of its steps are awaited and the
 * monotonic clock is counted from there: of several, from the one that was seen with the least delay.
 */
export function preciseWall(): () => number {
  const offset = Math.max(...Array.from({ length: 20 }, offsetAtNextStep))
  return () => mono() + offset
}

function offsetAtNextStep(): number {
  const before = Date.now()
  while (Date.now() === before);
  const after = Date.now()
  return after - mono()
}

/** User and system time of this process so far, all threads included, in microseconds. */
export function cpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
