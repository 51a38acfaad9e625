/** Throws unless the jobs 0 … total - 1 each ran once in all processes together: a figure for work that was lost or repeated is none. */
export function checkExactlyOnce(total: number, ledgers: readonly Iterable<number>[]): void {
  const runs = new Uint32Array(total)
  const unknown: number[] = []
  for (const ledger of ledgers) {
    for (const n of ledger) {
      if (n in runs) runs[n] = (runs[n] as number) + 1
      else unknown.push(n)
    }
  }
  const missing = numbersOf(runs, (count) => count === 0)
  const repeated = numbersOf(runs, (count) => count > 1)
  const faults = [
    describe('never ran', missing),
    describe('ran more than once', repeated),
    describe('were never enqueued', unknown),
  ]
  const message = faults.filter((fault) => fault !== '').join('; ')
  if (message !== '') throw new Error(`Of ${total} jobs ${message}`)
}

function numbersOf(runs: Uint32Array, isWanted: (count: number) => boolean): number[] {
  const found: number[] = []
  runs.forEach((count, n) => {
    if (isWanted(count)) found.push(n)
  })
  return found
}

function describe(what: string, numbers: readonly number[]): string {
  if (numbers.length === 0) return ''
  return `${numbers.length} ${what} (${numbers.slice(0, 5).join(', ')}${numbers.length > 5 ? ', …' : ''})`
}
