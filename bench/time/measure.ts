/** CPU microseconds per operation: the best of several short runs, which a busy neighbour disturbs less. */
export function microsPerOp(run: (i: number) => unknown, { rounds = 7, millis = 60 } = {}): number {
  let sink: unknown
  let operations = 16
  // Grow the batch until one run is long enough to be timed; this warms the code up as well.
  for (let spent = 0; spent < millis * 1000; operations *= 2) {
    spent = cpuMicros(() => {
      for (let i = 0; i < operations; i++) sink = run(i)
    })
  }
  let best = Infinity
  for (let round = 0; round < rounds; round++) {
    const spent = cpuMicros(() => {
      for (let i = 0; i < operations; i++) sink = run(i)
    })
    best = Math.min(best, spent / operations)
  }
  if (sink === best) console.log(sink)
  return best
}

/** User and system time of this process while `work` ran. */
export function cpuMicros(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}
