import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cron } from '../../src/schedule/cron.ts'
import { type CronCase, cronCase } from './cron-arbitrary.ts'

const dayMs = 86_400_000
const start = fc.integer({ min: Date.UTC(1970, 0, 1) / 1000, max: Date.UTC(2045, 0, 1) / 1000 }).map((second) => second * 1000)

describe('JB-4 cron over years', () => {
  it('agrees with a day-by-day scan over 41 years, in both directions', () => {
    fc.assert(
      fc.property(cronCase(), start, (cronCase, from) => {
        const schedule = cron(cronCase.text)
        expect(schedule.nextMs(from)).toBe(scan(cronCase, from, 1))
        expect(schedule.previousMs(from)).toBe(scan(cronCase, from, -1))
      }),
      { numRuns: 2000, seed: 23 },
    )
  })

  it('answers the same wherever between two instants it is asked from, in any zone', () => {
    const zone = fc.constantFrom(
      'America/New_York',
      'Africa/Casablanca',
      'Australia/Lord_Howe',
      'Asia/Gaza',
      'America/Nuuk',
      'Pacific/Apia',
    )
    const options = fc.record({
      skippedTime: fc.constantFrom('run' as const, 'skip' as const),
      repeatedTime: fc.constantFrom('auto' as const, 'second' as const),
    })
    fc.assert(
      fc.property(
        cronCase(),
        zone,
        options,
        start,
        fc.double({ min: 0, max: 0.999_999, noNaN: true }),
        ({ text }, timezone, choice, from, part) => {
          const schedule = cron(text, { timezone, ...choice })
          const first = schedule.nextMs(from)
          if (first === null) return
          expect(schedule.nextMs(from + Math.floor((first - from) * part))).toBe(first)
          expect(schedule.nextMs(first - 1)).toBe(first)
          const second = schedule.nextMs(first)
          if (second === null) return
          expect(schedule.previousMs(first + 1 + Math.floor((second - first) * part))).toBe(first)
          expect(schedule.previousMs(second)).toBe(first)
        },
      ),
      { numRuns: 4000, seed: 29 },
    )
  })
})

/** The first match after `from` or the last before it, by looking at one day after the other. */
function scan({ seconds, minutes, hours, matchesDate }: CronCase, from: number, direction: 1 | -1): number | null {
  const times = [...hours].flatMap((h) => [...minutes].flatMap((m) => [...seconds].map((s) => ((h * 60 + m) * 60 + s) * 1000)))
  times.sort((a, b) => (a - b) * direction)
  const today = Math.floor(from / dayMs) * dayMs
  for (let i = 0; i < 41 * 366; i++) {
    const day = today + i * dayMs * direction
    if (!matchesDate(day)) continue
    const time = times.find((each) => (day + each - from) * direction > 0)
    if (time !== undefined) return day + time
  }
  return null
}
