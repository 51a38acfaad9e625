import { describe, expect, it } from 'vitest'
import { type CronOptions, cron } from '../../src/schedule/cron.ts'

/**
 * Written by hand from the zones' published changes. A row: zone, text, the days looked at (from, to on the wall, given
 * with their offsets), and every instant in them as wall time with offset.
 */
type Row = readonly [zone: string, text: string, from: string, to: string, expected: readonly string[], options?: CronOptions]

const gaps: readonly Row[] = [
  // 02:00 → 03:00, the common case.
  [
    'America/New_York',
    '30 2 * * *',
    '2025-03-08T12:00-05:00',
    '2025-03-10T12:00-04:00',
    ['2025-03-09T03:00-04:00', '2025-03-10T02:30-04:00'],
  ],
  ['America/New_York', '0,30 2 * * *', '2025-03-09T00:00-05:00', '2025-03-10T00:00-04:00', ['2025-03-09T03:00-04:00']],
  ['America/New_York', '*/20 2 * * *', '2025-03-09T00:00-05:00', '2025-03-10T00:00-04:00', ['2025-03-09T03:00-04:00']],
  ['America/New_York', '* 2 * * *', '2025-03-09T00:00-05:00', '2025-03-10T00:00-04:00', ['2025-03-09T03:00-04:00']],
  [
    'America/New_York',
    '0 */2 * * *',
    '2025-03-09T00:00-05:00',
    '2025-03-09T05:00-04:00',
    ['2025-03-09T00:00-05:00', '2025-03-09T03:00-04:00', '2025-03-09T04:00-04:00'],
  ],
  [
    'America/New_York',
    '*/30 * * * *',
    '2025-03-09T01:00-05:00',
    '2025-03-09T04:00-04:00',
    ['2025-03-09T01:00-05:00', '2025-03-09T01:30-05:00', '2025-03-09T03:00-04:00', '2025-03-09T03:30-04:00'],
  ],
  [
    'America/New_York',
    '30 * * * *',
    '2025-03-09T01:00-05:00',
    '2025-03-09T04:00-04:00',
    ['2025-03-09T01:30-05:00', '2025-03-09T03:30-04:00'],
  ],
  // The instant at the end of the gap matches by itself as well: still one.
  ['America/New_York', '0 2,3 * * *', '2025-03-09T00:00-05:00', '2025-03-10T00:00-04:00', ['2025-03-09T03:00-04:00']],
  ['America/New_York', '30 2 * * *', '2025-03-09T00:00-05:00', '2025-03-10T00:00-04:00', [], { skippedTime: 'skip' }],
  ['America/New_York', '15 30 2 * * *', '2025-03-09T00:00-05:00', '2025-03-10T00:00-04:00', ['2025-03-09T03:00:00-04:00']],
  [
    'Europe/Warsaw',
    '0 2 * * *',
    '2026-03-28T12:00+01:00',
    '2026-03-30T12:00+02:00',
    ['2026-03-29T03:00+02:00', '2026-03-30T02:00+02:00'],
  ],
  ['Europe/London', '15 1 * * *', '2026-03-29T00:00+00:00', '2026-03-30T00:00+01:00', ['2026-03-29T02:00+01:00']],
  // Winter time is the exception there, and the rule is the same.
  ['Europe/Dublin', '59 1 * * *', '2026-03-29T00:00+00:00', '2026-03-30T00:00+01:00', ['2026-03-29T02:00+01:00']],
  ['America/St_Johns', '5 2 * * *', '2025-03-09T00:00-03:30', '2025-03-10T00:00-02:30', ['2025-03-09T03:00-02:30']],
  // One minute after midnight, until 2011.
  ['America/St_Johns', '30 0 * * *', '2011-03-13T00:00-03:30', '2011-03-14T00:00-02:30', ['2011-03-13T01:01-02:30']],
  ['America/St_Johns', '0 0 * * *', '2011-03-13T00:00-03:30', '2011-03-14T00:00-02:30', ['2011-03-13T00:00-03:30']],
  // Half an hour.
  [
    'Australia/Lord_Howe',
    '15 2 * * *',
    '2025-10-05T00:00+10:30',
    '2025-10-06T12:00+11:00',
    ['2025-10-05T02:30+11:00', '2025-10-06T02:15+11:00'],
  ],
  ['Australia/Lord_Howe', '45 2 * * *', '2025-10-05T00:00+10:30', '2025-10-06T00:00+11:00', ['2025-10-05T02:45+11:00']],
  ['America/Caracas', '45 2 * * *', '2016-05-01T00:00-04:30', '2016-05-02T00:00-04:00', ['2016-05-01T03:00-04:00']],
  // Midnight.
  [
    'America/Sao_Paulo',
    '0 0 * * *',
    '2018-11-03T12:00-03:00',
    '2018-11-05T12:00-02:00',
    ['2018-11-04T01:00-02:00', '2018-11-05T00:00-02:00'],
  ],
  [
    'Africa/Cairo',
    '0 0 * * *',
    '2024-04-25T12:00+02:00',
    '2024-04-27T12:00+03:00',
    ['2024-04-26T01:00+03:00', '2024-04-27T00:00+03:00'],
  ],
  ['Asia/Beirut', '30 0 31 3 *', '2024-03-30T12:00+02:00', '2024-04-01T12:00+03:00', ['2024-03-31T01:00+03:00']],
  ['America/Santiago', '59 0 7 * *', '2025-09-06T12:00-04:00', '2025-09-08T12:00-03:00', ['2025-09-07T01:00-03:00']],
  // 23:00 → 24:00: made up on the next date.
  [
    'America/Nuuk',
    '30 23 * * *',
    '2025-03-29T12:00-02:00',
    '2025-03-31T12:00-01:00',
    ['2025-03-30T00:00-01:00', '2025-03-30T23:30-01:00'],
  ],
  ['Asia/Pyongyang', '45 23 4 5 *', '2018-05-04T12:00+08:30', '2018-05-06T12:00+09:00', ['2018-05-05T00:00+09:00']],
  // Two hours.
  ['Antarctica/Troll', '30 1,2 * * *', '2025-03-30T00:00+00:00', '2025-03-31T00:00+02:00', ['2025-03-30T03:00+02:00']],
  // Fifteen minutes, once.
  ['Asia/Kathmandu', '10 0 1 1 *', '1985-12-31T12:00+05:30', '1986-01-02T12:00+05:45', ['1986-01-01T00:15+05:45']],
  ['Pacific/Auckland', '30 2 * * 0', '2025-09-28T00:00+12:00', '2025-09-29T00:00+13:00', ['2025-09-28T03:00+13:00']],
  // After Ramadan.
  ['Africa/Casablanca', '30 2 * * *', '2025-04-06T00:00+00:00', '2025-04-07T00:00+01:00', ['2025-04-06T03:00+01:00']],
  // An offset with seconds: 44 minutes and a half.
  ['Africa/Monrovia', '30 0 7 1 *', '1972-01-06T12:00Z', '1972-01-08T00:00Z', ['1972-01-07T00:44:30Z']],
  ['Africa/Monrovia', '0 12 6 1 *', '1972-01-06T00:00Z', '1972-01-08T00:00Z', ['1972-01-06T12:44:30Z']],
  // A date that is missing as a whole.
  [
    'Pacific/Apia',
    '0 12 * * *',
    '2011-12-29T00:00-10:00',
    '2012-01-01T00:00+14:00',
    ['2011-12-29T12:00-10:00', '2011-12-31T12:00+14:00'],
  ],
  ['Pacific/Apia', '0 12 30 * *', '2011-12-29T00:00-10:00', '2012-02-01T00:00+14:00', ['2012-01-30T12:00+14:00']],
  ['Pacific/Kwajalein', '0 12 21 8 *', '1993-08-20T00:00-12:00', '1994-08-22T00:00+12:00', ['1994-08-21T12:00+12:00']],
]

const overlaps: readonly Row[] = [
  [
    'America/New_York',
    '30 1 * * *',
    '2025-11-02T00:00-04:00',
    '2025-11-03T12:00-05:00',
    ['2025-11-02T01:30-04:00', '2025-11-03T01:30-05:00'],
  ],
  [
    'America/New_York',
    '0,30 1 * * *',
    '2025-11-02T00:00-04:00',
    '2025-11-03T00:00-05:00',
    ['2025-11-02T01:00-04:00', '2025-11-02T01:30-04:00'],
  ],
  [
    'America/New_York',
    '*/30 * * * *',
    '2025-11-02T01:00-04:00',
    '2025-11-02T02:30-05:00',
    [
      '2025-11-02T01:00-04:00',
      '2025-11-02T01:30-04:00',
      '2025-11-02T01:00-05:00',
      '2025-11-02T01:30-05:00',
      '2025-11-02T02:00-05:00',
    ],
  ],
  [
    'America/New_York',
    '0 * * * *',
    '2025-11-02T00:30-04:00',
    '2025-11-02T02:30-05:00',
    ['2025-11-02T01:00-04:00', '2025-11-02T01:00-05:00', '2025-11-02T02:00-05:00'],
  ],
  [
    'America/New_York',
    '*/30 1 * * *',
    '2025-11-02T00:00-04:00',
    '2025-11-03T00:00-05:00',
    ['2025-11-02T01:00-04:00', '2025-11-02T01:30-04:00', '2025-11-02T01:00-05:00', '2025-11-02T01:30-05:00'],
  ],
  [
    'America/New_York',
    '0 1-3 * * *',
    '2025-11-02T00:00-04:00',
    '2025-11-03T00:00-05:00',
    ['2025-11-02T01:00-04:00', '2025-11-02T01:00-05:00', '2025-11-02T02:00-05:00', '2025-11-02T03:00-05:00'],
  ],
  [
    'America/New_York',
    '30 1 * * *',
    '2025-11-02T00:00-04:00',
    '2025-11-03T00:00-05:00',
    ['2025-11-02T01:30-05:00'],
    { repeatedTime: 'second' },
  ],
  [
    'America/New_York',
    '30 1 * * *',
    '2025-11-02T00:00-04:00',
    '2025-11-03T00:00-05:00',
    ['2025-11-02T01:30-04:00', '2025-11-02T01:30-05:00'],
    { repeatedTime: 'both' },
  ],
  [
    'America/New_York',
    '*/30 1 * * *',
    '2025-11-02T00:00-04:00',
    '2025-11-03T00:00-05:00',
    ['2025-11-02T01:00-04:00', '2025-11-02T01:30-04:00'],
    { repeatedTime: 'first' },
  ],
  ['America/New_York', '0 2 * * *', '2025-11-02T00:00-04:00', '2025-11-03T00:00-05:00', ['2025-11-02T02:00-05:00']],
  // All hours as a list mean fixed times, as a range elapsed ones.
  [
    'America/New_York',
    '0 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23 * * *',
    '2025-11-02T01:00-04:00',
    '2025-11-02T02:30-05:00',
    ['2025-11-02T01:00-04:00', '2025-11-02T02:00-05:00'],
  ],
  [
    'America/New_York',
    '0 0-23 * * *',
    '2025-11-02T01:00-04:00',
    '2025-11-02T02:30-05:00',
    ['2025-11-02T01:00-04:00', '2025-11-02T01:00-05:00', '2025-11-02T02:00-05:00'],
  ],
  [
    'Europe/Warsaw',
    '0 2 * * *',
    '2026-10-25T00:00+02:00',
    '2026-10-26T12:00+01:00',
    ['2026-10-25T02:00+02:00', '2026-10-26T02:00+01:00'],
  ],
  ['Europe/London', '59 1 * * *', '2026-10-25T00:00+01:00', '2026-10-26T00:00+00:00', ['2026-10-25T01:59+01:00']],
  ['Europe/Dublin', '0 1 * * *', '2026-10-25T00:00+01:00', '2026-10-26T00:00+00:00', ['2026-10-25T01:00+01:00']],
  ['America/St_Johns', '15 1 * * *', '2025-11-02T00:00-02:30', '2025-11-03T00:00-03:30', ['2025-11-02T01:15-02:30']],
  // Back across midnight: a date begins twice.
  ['America/St_Johns', '30 23 * * *', '2010-11-06T12:00-02:30', '2010-11-07T12:00-03:30', ['2010-11-06T23:30-02:30']],
  ['America/St_Johns', '0 0 * * *', '2010-11-06T12:00-02:30', '2010-11-07T12:00-03:30', ['2010-11-07T00:00-02:30']],
  [
    'Australia/Lord_Howe',
    '*/15 * * * *',
    '2026-04-05T01:30+11:00',
    '2026-04-05T02:15+10:30',
    [
      '2026-04-05T01:30+11:00',
      '2026-04-05T01:45+11:00',
      '2026-04-05T01:30+10:30',
      '2026-04-05T01:45+10:30',
      '2026-04-05T02:00+10:30',
    ],
  ],
  ['Australia/Lord_Howe', '45 1 * * *', '2026-04-05T00:00+11:00', '2026-04-06T00:00+10:30', ['2026-04-05T01:45+11:00']],
  ['America/Caracas', '40 2 * * *', '2007-12-09T00:00-04:00', '2007-12-10T00:00-04:30', ['2007-12-09T02:40-04:00']],
  [
    'America/Sao_Paulo',
    '30 23 * * *',
    '2019-02-16T12:00-02:00',
    '2019-02-18T00:00-03:00',
    ['2019-02-16T23:30-02:00', '2019-02-17T23:30-03:00'],
  ],
  ['Africa/Cairo', '0 23 * * *', '2024-10-31T12:00+03:00', '2024-11-01T12:00+02:00', ['2024-10-31T23:00+03:00']],
  [
    'Africa/Cairo',
    '0 * 31 10 *',
    '2024-10-31T22:30+03:00',
    '2024-11-01T12:00+02:00',
    ['2024-10-31T23:00+03:00', '2024-10-31T23:00+02:00'],
  ],
  ['Asia/Beirut', '10 23 * * *', '2024-10-26T12:00+03:00', '2024-10-27T12:00+02:00', ['2024-10-26T23:10+03:00']],
  [
    'America/Santiago',
    '0 0 * * *',
    '2025-04-05T12:00-03:00',
    '2025-04-07T12:00-04:00',
    ['2025-04-06T00:00-04:00', '2025-04-07T00:00-04:00'],
  ],
  ['America/Nuuk', '30 23 * * *', '2025-10-25T12:00-01:00', '2025-10-26T12:00-02:00', ['2025-10-25T23:30-01:00']],
  ['Asia/Pyongyang', '45 23 14 8 *', '2015-08-14T12:00+09:00', '2015-08-15T12:00+08:30', ['2015-08-14T23:45+09:00']],
  ['Antarctica/Troll', '30 2 * * *', '2025-10-26T00:00+02:00', '2025-10-27T00:00+00:00', ['2025-10-26T02:30+02:00']],
  [
    'Antarctica/Troll',
    '0 1-2 * * *',
    '2025-10-26T00:00+02:00',
    '2025-10-27T00:00+00:00',
    ['2025-10-26T01:00+02:00', '2025-10-26T02:00+02:00', '2025-10-26T01:00+00:00', '2025-10-26T02:00+00:00'],
  ],
  ['Pacific/Auckland', '30 2 * * *', '2026-04-05T00:00+13:00', '2026-04-06T00:00+12:00', ['2026-04-05T02:30+13:00']],
  ['Africa/Casablanca', '30 2 * * *', '2025-02-23T00:00+01:00', '2025-02-24T00:00+00:00', ['2025-02-23T02:30+01:00']],
  // No change at all.
  ['Asia/Kolkata', '30 2 * * *', '2026-03-29T00:00+05:30', '2026-03-30T00:00+05:30', ['2026-03-29T02:30+05:30']],
]

describe('JB-4 cron at clock changes, in tables written by hand', () => {
  it('covers at least twelve zones in each table', () => {
    for (const table of [gaps, overlaps]) expect(new Set(table.map(([zone]) => zone)).size).toBeGreaterThanOrEqual(12)
  })

  describe('wall times lost in a gap become one instant at its end, unless every hour matches', () => {
    it.each(gaps)('%s: %s from %s to %s', (...row) => check(row as unknown as Row))
  })

  describe('wall times shown twice count once, unless the text means elapsed time', () => {
    it.each(overlaps)('%s: %s from %s to %s', (...row) => check(row as unknown as Row))
  })

  it('goes to the next day when asked from inside the second pass', () => {
    const schedule = cron('30 1 * * *', { timezone: 'America/New_York' })
    expect(schedule.next(new Date('2025-11-02T01:15:00-05:00'))).toEqual(new Date('2025-11-03T01:30:00-05:00'))
    expect(schedule.previous(new Date('2025-11-02T01:45:00-05:00'))).toEqual(new Date('2025-11-02T01:30:00-04:00'))
  })

  it('finds the made-up instant when asked from the last moment before it', () => {
    const schedule = cron('30 2 * * *', { timezone: 'America/New_York' })
    const gapEnd = new Date('2025-03-09T03:00:00-04:00')
    expect(schedule.next(new Date(gapEnd.getTime() - 1))).toEqual(gapEnd)
    expect(schedule.next(new Date(gapEnd.getTime() - 1000))).toEqual(gapEnd)
    expect(schedule.next(gapEnd)).toEqual(new Date('2025-03-10T02:30:00-04:00'))
    expect(schedule.previous(new Date(gapEnd.getTime() + 1))).toEqual(gapEnd)
    expect(schedule.previous(gapEnd)).toEqual(new Date('2025-03-08T02:30:00-05:00'))
  })

  it('never fires again where the gap takes the only day of the year and lost times are skipped', () => {
    const second = cron('30 2 * 3 0#2', { timezone: 'America/New_York', skippedTime: 'skip' })
    expect(second.next(new Date('2026-01-01T00:00:00Z'))).toBeNull()
  })
})

function check([zone, text, from, to, expected, options]: Row): void {
  const schedule = cron(text, { timezone: zone, ...options })
  const found = [...schedule.between(new Date(from), new Date(to))]
  expect(found.map(iso)).toEqual(expected.map((instant) => iso(new Date(instant))))
  const backwards: string[] = []
  for (let at = schedule.previous(new Date(to)); at !== null && at >= new Date(from); at = schedule.previous(at))
    backwards.unshift(iso(at))
  expect(backwards).toEqual(found.map(iso))
}

function iso(date: Date): string {
  return date.toISOString()
}
