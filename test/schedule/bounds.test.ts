import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cron } from '../../src/schedule/cron.ts'
import { bind, interval } from '../../src/schedule/interval.ts'
import { once } from '../../src/schedule/once.ts'
import { rrule } from '../../src/schedule/rrule.ts'
import type { Schedule } from '../../src/schedule/schedule.ts'
import { spreadMs } from '../../src/schedule/spread.ts'
import { union } from '../../src/schedule/union.ts'
import { wallClock } from './wall-scan.ts'

const at = (text: string) => new Date(text)

/** Forwards and backwards, which must agree. */
function within(schedule: Schedule, from: string, to: string): string[] {
  const forwards = [...schedule.between(at(from), at(to))].map((date) => date.toISOString().replace(':00.000Z', 'Z'))
  const backwards: string[] = []
  for (let date = schedule.previous(at(to)); date && date >= at(from); date = schedule.previous(date))
    backwards.unshift(date.toISOString().replace(':00.000Z', 'Z'))
  expect(backwards).toEqual(forwards)
  return forwards
}

describe('JB-5 windows', () => {
  it('begin at their start, which is no run by itself, and end before their end', () => {
    const schedule = cron('0 * * * *', { start: '2026-01-01T00:30:00Z', end: '2026-01-01T03:00:00Z' })
    expect(within(schedule, '2025-12-31T00:00:00Z', '2026-01-02T00:00:00Z')).toEqual(['2026-01-01T01:00Z', '2026-01-01T02:00Z'])
    expect(schedule.next(at('2026-01-01T02:00:00Z'))).toBeNull()
    expect(schedule.previous(at('2026-01-01T01:00:00Z'))).toBeNull()
  })

  it('hold an instant exactly at their start and none exactly at their end', () => {
    const schedule = cron('0 * * * *', { start: at('2026-01-01T01:00:00Z'), end: at('2026-01-01T02:00:00Z') })
    expect(within(schedule, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z')).toEqual(['2026-01-01T01:00Z'])
  })

  it('filter an interval and never shift its phase', () => {
    const schedule = interval('R/2026-01-01T00:00:00Z/PT40M', { start: '2026-01-01T01:00:00Z' })
    expect(schedule.next(at('2020-01-01T00:00:00Z'))).toEqual(at('2026-01-01T01:20:00Z'))
  })

  it('must be in order', () => {
    for (const end of ['2026-01-01T00:00:00Z', '2025-01-01T00:00:00Z']) {
      expect(() => cron('* * * * *', { start: '2026-01-01T00:00:00Z', end })).toThrow(
        expect.objectContaining({ code: 'option.invalid' }),
      )
    }
    expect(() => cron('* * * * *', { start: '2026-01-01' })).toThrow(expect.objectContaining({ code: 'instant.invalid' }))
  })
})

describe('JB-4 exclusions take instants out of the set', () => {
  const noon = (options: object) => cron('0 12 * * *', { timezone: 'America/New_York', ...options })
  const christmas = (schedule: Schedule) =>
    within(schedule, '2026-12-23T00:00:00Z', '2026-12-28T00:00:00Z').map((text) => text.slice(8, 10))

  it('by date, on the wall of the schedule', () => {
    expect(christmas(noon({ exclude: ['2026-12-25'] }))).toEqual(['23', '24', '26', '27'])
    // 23:30 in New York is the next day in UTC.
    expect(
      within(
        cron('30 23 * * *', { timezone: 'America/New_York', exclude: ['2026-12-24'] }),
        '2026-12-24T12:00:00Z',
        '2026-12-27T00:00:00Z',
      ),
    ).toEqual(['2026-12-26T04:30Z'])
  })

  it('by range, of dates or of instants, without its end', () => {
    expect(christmas(noon({ exclude: [{ from: '2026-12-24', to: '2026-12-26' }] }))).toEqual(['23', '26', '27'])
    expect(christmas(noon({ exclude: [{ from: '2026-12-24T17:00:00Z', to: '2026-12-25T17:00:00Z' }] }))).toEqual([
      '23',
      '25',
      '26',
      '27',
    ])
    expect(christmas(noon({ exclude: [{ from: at('2026-12-24T17:00:01Z'), to: at('2026-12-25T17:00:01Z') }] }))).toEqual([
      '23',
      '24',
      '26',
      '27',
    ])
  })

  it('by another schedule as a calendar of holidays: its dates, in whatever zone each is read', () => {
    const holidays = rrule('DTSTART;VALUE=DATE:20200101\nRRULE:FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25')
    expect(christmas(noon({ exclude: [holidays] }))).toEqual(['23', '24', '26', '27'])
    expect(christmas(noon({ exclude: [{ days: cron('0 0 24,26 12 *') }] }))).toEqual(['23', '25', '27'])
  })

  it('by exactly the instants of another schedule', () => {
    const schedule = cron('*/20 * * * *', { exclude: [{ instants: cron('0 * * * *') }] })
    expect(within(schedule, '2026-01-01T00:00:00Z', '2026-01-01T02:00:00Z').map((text) => text.slice(11))).toEqual([
      '00:20Z',
      '00:40Z',
      '01:20Z',
      '01:40Z',
    ])
  })

  it('are a filter over the instants, whatever is combined', () => {
    const day = fc.integer({ min: 20, max: 31 }).map((date) => `2026-10-${date}`)
    const instant = fc.integer({ min: 0, max: 12 * 24 * 4 }).map((quarter) => new Date(Date.UTC(2026, 9, 20) + quarter * 900_000))
    const range = fc
      .tuple(instant, instant)
      .filter(([from, to]) => from < to)
      .map(([from, to]) => ({ from, to }))
    const zone = fc.constantFrom('Europe/Oslo', 'America/Nuuk', 'UTC')
    const text = fc.constantFrom('*/30 * * * *', '0 */5 * * *', '15 2,23 * * *', '0 12 * * 1-5')
    const excluded = fc.record({
      days: fc.array(day, { maxLength: 4 }),
      ranges: fc.array(range, { maxLength: 3 }),
      hour: fc.constantFrom('0 0', '30 2', '0 12'),
    })
    fc.assert(
      fc.property(text, zone, excluded, range, (cronText, timezone, { days, ranges, hour }, window) => {
        const instants = cron(`${hour} * * *`, { timezone })
        const schedule = cron(cronText, {
          timezone,
          start: window.from,
          end: window.to,
          exclude: [...days, ...ranges, { instants }],
        })
        const wallAt = wallClock(timezone)
        const isLeft = (date: Date) =>
          date >= window.from &&
          date < window.to &&
          !days.includes(new Date(wallAt(date.getTime())).toISOString().slice(0, 10)) &&
          !ranges.some(({ from, to }) => date >= from && date < to) &&
          instants.nextMs(date.getTime() - 1) !== date.getTime()
        const all = [...cron(cronText, { timezone }).between(at('2026-10-19T00:00:00Z'), at('2026-11-03T00:00:00Z'))]
        const expected = all.filter(isLeft).map((date) => date.toISOString().replace(':00.000Z', 'Z'))
        expect(within(schedule, '2026-10-19T00:00:00Z', '2026-11-03T00:00:00Z')).toEqual(expected)
      }),
      { numRuns: 300, seed: 31 },
    )
  })

  it('over a date that the clock begins twice', () => {
    // In Cairo 31 October 2024 has its last hour twice.
    const schedule = cron('30 * * * *', { timezone: 'Africa/Cairo', exclude: ['2024-10-31'] })
    expect(within(schedule, '2024-10-31T18:00:00Z', '2024-10-31T23:00:00Z')).toEqual(['2024-10-31T22:30Z'])
  })

  it('over a date that is shown in two pieces', () => {
    // In St. John's the clock went from 00:01 on 7 November 2010 back to 23:01 on the 6th.
    const schedule = cron('*/30 * * * *', { timezone: 'America/St_Johns', exclude: ['2010-11-06'] })
    expect(within(schedule, '2010-11-06T12:00:00Z', '2010-11-07T04:00:00Z')).toEqual(['2010-11-07T02:30Z', '2010-11-07T03:30Z'])
  })

  it('end a search that they leave without an instant', () => {
    for (const exclude of [[{ instants: cron('* * * * * *') }], [cron('0 0 * * *')]]) {
      const schedule = cron('* * * * * *', { exclude })
      expect(schedule.next(at('2026-01-01T00:00:00Z'))).toBeNull()
      expect(schedule.previous(at('2026-01-01T00:00:00Z'))).toBeNull()
    }
  })

  it.each([['2026-02-30'], ['soon'], [5], [null], [{ from: '2026-01-02', to: '2026-01-01' }], [{ on: '2026-01-02' }]])(
    'refuse %j',
    (wrong) => {
      expect(() => cron('* * * * *', { exclude: [wrong] as never })).toThrow(expect.objectContaining({ code: 'option.invalid' }))
    },
  )
})

describe('JB-4 spread', () => {
  const spread = cron('0 0 * * *', { spread: '10m' })

  it('delays a job by the same time each run, less than the spread, and leaves the instants alone', () => {
    expect(spreadMs(spread, 'job-1')).toBe(spreadMs(spread, 'job-1'))
    expect(spread.next(at('2026-01-01T12:00:00Z'))).toEqual(at('2026-01-02T00:00:00Z'))
    expect(spreadMs(cron('0 0 * * *'), 'job-1')).toBe(0)
  })

  it('is fixed for ever: stored dues depend on it', () => {
    expect(['job-1', 'job-2', 'invoice/acme', 'ünïcode'].map((job) => spreadMs(spread, job))).toEqual([
      292_622, 63_486, 288_215, 115_741,
    ])
  })

  it('spreads a thousand jobs evenly', () => {
    const tenths = new Array<number>(10).fill(0)
    for (let i = 0; i < 1000; i++) {
      const delay = spreadMs(spread, `tenant-1/report-${i}`)
      expect(delay).toBeGreaterThanOrEqual(0)
      expect(delay).toBeLessThan(600_000)
      const tenth = Math.floor(delay / 60_000)
      tenths[tenth] = (tenths[tenth] as number) + 1
    }
    for (const count of tenths) expect(count).toBeGreaterThan(60)
  })
})

describe('JB-4 union', () => {
  it('has the instants of all parts, each once', () => {
    const schedule = union([cron('0 */2 * * *'), cron('0 */3 * * *'), once('2026-01-01T05:30:00Z')])
    expect(within(schedule, '2026-01-01T00:00:00Z', '2026-01-01T07:00:00Z').map((text) => text.slice(11))).toEqual([
      '00:00Z',
      '02:00Z',
      '03:00Z',
      '04:00Z',
      '05:30Z',
      '06:00Z',
    ])
  })

  it('binds the parts that have no start, and stays itself when all have one', () => {
    const anchored = union([cron('0 0 * * *')])
    expect(bind(anchored, 0)).toBe(anchored)
    expect(
      bind(union([interval('PT1H'), cron('0 0 1 * *')]), at('2026-01-02T00:30:00Z').getTime()).next(at('2026-01-02T02:00:00Z')),
    ).toEqual(at('2026-01-02T02:30:00Z'))
  })

  it('ends when all parts have ended', () => {
    expect(union([once('2026-01-01T00:00:00Z'), once('2026-01-02T00:00:00Z')]).next(at('2026-01-02T00:00:00Z'))).toBeNull()
  })

  it.each([[[]], [['* * * * *']], ['x'], [undefined]])('refuses %j', (wrong) => {
    expect(() => union(wrong as never)).toThrow(expect.objectContaining({ code: 'option.invalid' }))
  })
})

describe('JB-4 once', () => {
  it('has one instant', () => {
    const schedule = once('2026-01-01T06:00:00+01:00')
    expect(schedule.next(at('2026-01-01T04:59:59.999Z'))).toEqual(at('2026-01-01T05:00:00Z'))
    expect(schedule.next(at('2026-01-01T05:00:00Z'))).toBeNull()
    expect(schedule.previous(at('2026-01-01T05:00:00Z'))).toBeNull()
    expect(within(schedule, '2026-01-01T05:00:00Z', '2026-01-02T00:00:00Z')).toEqual(['2026-01-01T05:00Z'])
    expect(within(schedule, '2026-01-01T00:00:00Z', '2026-01-01T05:00:00Z')).toEqual([])
  })

  it('needs an offset, so that no process zone decides', () => {
    expect(() => once('2026-01-01T06:00:00')).toThrow(expect.objectContaining({ code: 'instant.invalid' }))
  })
})
