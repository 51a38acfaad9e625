/** The name that was probably meant: the nearest by letters that were added, left out, changed or swapped. */
export function nearest(given: string, names: readonly string[]): string | null {
  const [best] = names
    .map((name) => ({ name, distance: distance(given.toLowerCase(), name.toLowerCase()) }))
    .filter((one) => one.distance <= Math.max(1, Math.floor(one.name.length / 3)))
    .sort((a, b) => a.distance - b.distance)
  return best?.name ?? null
}

/** A sentence for a message, with a space before it; empty when nothing is near. */
export function didYouMean(given: string, names: readonly string[]): string {
  const name = nearest(given, names)
  return name === null ? '' : ` Did you mean ${name}?`
}

function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i++) {
    const above = rows[i - 1] as number[]
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (above[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row[j] = Math.min(change, (above[j] as number) + 1, (row[j - 1] as number) + 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) row[j] = Math.min(row[j] as number, ((rows[i - 2] as number[])[j - 2] as number) + 1)
    }
    rows.push(row)
  }
  return (rows[a.length] as number[])[b.length] as number
}
