import { isoText } from '../time/instant.ts'
import type { IntervalText } from './interval-text.ts'

/** An interval in words, without its zone. */
export function describeInterval({ duration, anchor, count }: IntervalText): string {
  const every = `Every ${saySpan(duration)}`
  const from = anchor === null ? every : `${every}, from ${isoText(anchor)}`
  return count === Infinity ? from : `${from}, ${count} ${count === 1 ? 'time' : 'times'} in all`
}

function saySpan({ months, days, ms }: IntervalText['duration']): string {
  const amounts: readonly (readonly [number, string])[] = [
    [Math.floor(months / 12), 'year'],
    [months % 12, 'month'],
    [days % 7 === 0 ? days / 7 : 0, 'week'],
    [days % 7 === 0 ? 0 : days, 'day'],
    [Math.floor(ms / 3_600_000), 'hour'],
    [Math.floor(ms / 60_000) % 60, 'minute'],
    [(ms % 60_000) / 1000, 'second'],
  ]
  const parts = amounts.filter(([amount]) => amount > 0)
  if (parts.length === 1 && parts[0]?.[0] === 1) return parts[0][1]
  return parts.map(([amount, unit]) => `${amount} ${unit}${amount === 1 ? '' : 's'}`).join(' ')
}
