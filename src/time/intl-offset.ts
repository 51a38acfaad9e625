import { dayFromCivil, dayMs } from './civil.ts'

/**
 * The offset of a zone in milliseconds, read from the wall time of Intl. A call takes microseconds, so
 * only tables are built from it. Throws a RangeError for a zone that Intl does not know.
 */
export function intlOffset(zone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
  return (ms) => {
    // 11/02/2025, 01:30:00; the year may have more digits.
    const text = format.format(ms)
    const comma = text.indexOf(',')
    const day = dayFromCivil(Number(text.slice(6, comma)), twoDigits(text, 0), twoDigits(text, 3))
    const seconds = twoDigits(text, comma + 2) * 3600 + twoDigits(text, comma + 5) * 60 + twoDigits(text, comma + 8)
    return day * dayMs + seconds * 1000 - Math.floor(ms / 1000) * 1000
  }
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48
}
