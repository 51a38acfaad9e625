/** `2,914`, or `500k+` where counting stopped. */
export function countText(count: number, isCapped = false): string {
  if (!isCapped) return count.toLocaleString('en-US')
  return count >= 1000 ? `${Math.floor(count / 1000)}k+` : `${count}+`
}

/** `1 job`, `2 jobs`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`
}
