import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cron } from '../../src/schedule/cron.ts'
import { interval } from '../../src/schedule/interval.ts'
import { once } from '../../src/schedule/once.ts'
import { rrule } from '../../src/schedule/rrule.ts'
import { union } from '../../src/schedule/union.ts'
import { cronCase } from './cron-arbitrary.ts'

describe('JB-4 schedules in words', () => {
  it.each([
    ['*/5 * * * *', 'Every 5 minutes (UTC)'],
    ['0 9 * * MON-FRI', 'At 09:00, Monday through Friday (UTC)'],
    ['@daily', 'At 00:00 (UTC)'],
    ['30 15 9 * * *', 'At 09:15:30 (UTC)'],
    ['0 0 L-3 * *', 'At 00:00, 3 days before the last day of the month (UTC)'],
    ['0 0 * * 5#2', 'At 00:00, on the second Friday of the month (UTC)'],
    // Either may match, and the words must not say "and".
    ['0 0 13 * 5', 'At 00:00, on day 13 of the month; or: At 00:00, only on Friday (UTC)'],
    // It starts anew each hour, so it is not "every 25 minutes".
    ['*/25 * * * *', 'At 0, 25, and 50 minutes past the hour (UTC)'],
    ['0 0 */15 * *', 'At 00:00, on day 1, 16, and 31 of the month (UTC)'],
    ['0 0 * * FRI#2,SAT', 'At 00:00, only on Saturday; or: At 00:00, on the second Friday of the month (UTC)'],
    ['0-10/5,30 9 * * *', 'At 0, 5, 10, and 30 minutes past the hour, at 09:00 (UTC)'],
    [
      '0 0 L-2W,3,LW * *',
      'At 00:00, on day 3 of the month and the weekday nearest 2 days before the last day of the month and the last weekday of the month (UTC)',
    ],
  ])('%s: %s', (text, words) => {
    expect(cron(text).describe()).toBe(words)
  })

  it.each([
    [interval('PT15M'), 'Every 15 minutes (UTC)'],
    [interval('P1M', { timezone: 'Europe/Oslo' }), 'Every month (Europe/Oslo)'],
    [
      interval('R5/2026-01-31T00:00:00Z/P1Y2M10DT1H30M'),
      'Every 1 year 2 months 10 days 1 hour 30 minutes, from 2026-01-31T00:00:00.000Z, 5 times in all (UTC)',
    ],
    [interval('PT0.1S'), 'Every 0.1 seconds (UTC)'],
    [once('2026-01-31T00:00:00Z'), 'Once, at 2026-01-31T00:00:00.000Z'],
    [rrule('DTSTART;TZID=Europe/Oslo:20260101T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO'), 'Every week on Monday at 9 AM (Europe/Oslo)'],
    [union([cron('0 9 * * *'), once('2026-01-31T00:00:00Z')]), 'At 09:00 (UTC); and: Once, at 2026-01-31T00:00:00.000Z'],
    [
      cron('0 9 * * *', { start: '2026-01-01T00:00:00Z', end: '2027-01-01T00:00:00Z', exclude: ['2026-12-24'], spread: '5m' }),
      'At 09:00 (UTC), from 2026-01-01T00:00:00.000Z, until 2027-01-01T00:00:00.000Z, with exclusions, spread over 300 s',
    ],
  ])('%j: %s', (schedule, words) => {
    expect(schedule.describe()).toBe(words)
  })

  it('finds words for every valid cron text', () => {
    fc.assert(
      fc.property(cronCase(), ({ text }) => {
        expect(cron(text).describe()).toMatch(/^[A-Z].* \(UTC\)$/)
      }),
      { numRuns: 2000, seed: 11 },
    )
  })
})
