import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cron } from '../../src/schedule/cron.ts'
import { bind, interval } from '../../src/schedule/interval.ts'
import { once } from '../../src/schedule/once.ts'
import { equalSchedules, registerSchedule, restoreSchedule } from '../../src/schedule/restore.ts'
import { rrule } from '../../src/schedule/rrule.ts'
import { betweenMs, nextMs, previousMs, type Schedule, type ScheduleJson } from '../../src/schedule/schedule.ts'
import { zonesOf } from '../../src/schedule/schedule-zone.ts'
import { union } from '../../src/schedule/union.ts'
import { cronCase } from './cron-arbitrary.ts'

const holidays = rrule('DTSTART;VALUE=DATE:20200101\nRRULE:FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25', { timezone: 'Europe/Oslo' })
const schedules: readonly (readonly [string, Schedule])[] = [
  ['cron', cron(' @Hourly ')],
  [
    'cron with everything',
    cron('*/5  8-18 ? * mon-FRI', {
      timezone: 'europe/oslo',
      skippedTime: 'skip',
      repeatedTime: 'second',
      start: '2026-01-01T00:00:00+01:00',
      end: new Date('2027-01-01T00:00:00Z'),
      spread: '5m',
    }),
  ],
  [
    'cron with exclusions',
    cron('0 12 * * *', {
      exclude: [
        '2026-12-24',
        { from: '2026-07-01', to: new Date('2026-08-01T00:00:00Z') },
        holidays,
        { instants: cron('0 0 1 * *') },
      ],
    }),
  ],
  ['a bare interval', interval('PT15M', { timezone: 'Europe/Oslo' })],
  ['a bound interval', bind(interval('P1M', { spread: 1500 }), 1_767_225_600_123)],
  ['a counted interval', interval('R5/2026-01-31T00:00:00/P1M', { timezone: 'America/New_York', end: '2026-04-01T00:00:00Z' })],
  ['rrule', rrule('DTSTART;TZID=Europe/Oslo:20260101T090000\nRRULE:FREQ=DAILY;COUNT=300\nEXDATE:20260102T090000')],
  ['once', once('2026-06-01T00:00:00Z')],
  [
    'union',
    union([
      cron('0 9 * * *', { timezone: 'Asia/Tokyo' }),
      union([once('2026-06-01T00:00:00Z'), interval('R/2026-01-01T00:00:00Z/P1W')]),
    ]),
  ],
]

describe('JB-4 schedules as JSON', () => {
  it.each(schedules)('%s comes back equal, with the same instants', (_, schedule) => {
    const json = JSON.parse(JSON.stringify(schedule)) as ScheduleJson
    const back = restoreSchedule(json)
    expect(json.kind).toBe(schedule.kind)
    expect(back.kind).toBe(schedule.kind)
    expect(back.toJSON()).toEqual(schedule.toJSON())
    expect(equalSchedules(back, schedule)).toBe(true)
    expect(equalSchedules(json, schedule)).toBe(true)
    expect(back.describe()).toBe(schedule.describe())
    const window = [new Date('2026-01-01T00:00:00Z'), new Date('2026-03-01T00:00:00Z')] as const
    expect([...back.between(...window)]).toEqual([...schedule.between(...window)])
  })

  it('holds for random cron texts', () => {
    fc.assert(
      fc.property(cronCase(), ({ text }) => {
        const schedule = cron(text, { timezone: 'Africa/Cairo' })
        const back = restoreSchedule(JSON.parse(JSON.stringify(schedule)))
        expect(equalSchedules(back, schedule)).toBe(true)
        expect(nextMs(back, 1e12)).toBe(nextMs(schedule, 1e12))
      }),
      { numRuns: 500, seed: 7 },
    )
  })

  it('are equal by text: spaces, letter case, macros and the order of properties do not count', () => {
    expect(equalSchedules(cron('0 0 * * *'), cron(' 0  0 * * * '))).toBe(true)
    expect(equalSchedules(cron('0 0 * * mon'), cron('0 0 * * MON'))).toBe(true)
    expect(equalSchedules(cron('@daily'), cron('0 0 * * *'))).toBe(true)
    expect(equalSchedules({ timezone: 'UTC', text: '0 0 * * *', kind: 'cron' }, cron('0 0 * * *'))).toBe(true)
    expect(equalSchedules(cron('0 0 * * *'), cron('0 0 * * *', { timezone: 'Europe/Oslo' }))).toBe(false)
    expect(equalSchedules(cron('0 0 * * *'), cron('0 0 * * *', { skippedTime: 'skip' }))).toBe(false)
    // A list of all hours means fixed times, a range elapsed ones.
    expect(equalSchedules(cron('0 0-1 * * *'), cron('0 0,1 * * *'))).toBe(false)
  })

  it('of a kind that nobody registered are refused, naming those that are known', () => {
    for (const json of [{ kind: 'lunar' }, { kind: 'toString' }, {}, null]) {
      expect(() => restoreSchedule(json as ScheduleJson)).toThrow(expect.objectContaining({ code: 'schedule.unknown' }))
    }
  })

  it('with a text or an option that no longer reads are refused', () => {
    expect(() => restoreSchedule({ kind: 'cron', text: 'x' })).toThrow(expect.objectContaining({ code: 'schedule.invalid' }))
    expect(() => restoreSchedule({ kind: 'cron', text: '* * * * *', phase: 3 })).toThrow(
      expect.objectContaining({ code: 'option.unknown' }),
    )
    expect(() => restoreSchedule({ kind: 'union', parts: 'x' })).toThrow(expect.objectContaining({ code: 'option.invalid' }))
  })
})

/** Full hours whose number is even, in a few lines and with dates only. */
class EvenHours implements Schedule {
  readonly kind = 'even-hours'
  next(after: Date): Date {
    return new Date((Math.floor(after.getTime() / 7_200_000) + 1) * 7_200_000)
  }
  previous(before: Date): Date {
    return new Date((Math.ceil(before.getTime() / 7_200_000) - 1) * 7_200_000)
  }
  *between(from: Date, to: Date): Generator<Date> {
    for (let date = this.next(new Date(from.getTime() - 1)); date < to; date = this.next(date)) yield date
  }
  describe(): string {
    return 'Every even hour'
  }
  toJSON(): ScheduleJson {
    return { kind: this.kind, timezone: 'Europe/Oslo' }
  }
}

describe('JB-4 own kinds of schedule', () => {
  registerSchedule('even-hours', () => new EvenHours())

  it('are restored once registered, and answer like the built-in ones', () => {
    const own = restoreSchedule({ kind: 'even-hours' })
    expect(own).toBeInstanceOf(EvenHours)
    expect(nextMs(own, 0)).toBe(7_200_000)
    expect(previousMs(own, 7_200_001)).toBe(7_200_000)
    expect([...betweenMs(own, 0, 7_200_001)]).toEqual([0, 7_200_000])
    expect(bind(own, 5)).toBe(own)
    expect(equalSchedules(own, new EvenHours())).toBe(true)
  })

  it('take part in unions and exclusions', () => {
    const odd = cron('0 * * * *', { exclude: [{ instants: new EvenHours() }] })
    expect(odd.nextMs(0)).toBe(3_600_000)
    expect(restoreSchedule(JSON.parse(JSON.stringify(odd))).next(new Date(3_600_000))).toEqual(new Date(3 * 3_600_000))
    const both = union([new EvenHours(), once(new Date(1000))])
    expect(nextMs(restoreSchedule(JSON.parse(JSON.stringify(both))), 0)).toBe(1000)
  })

  it('cannot take the name of a built-in kind', () => {
    for (const kind of ['cron', 'union', '', 'x'.repeat(101)]) {
      expect(() => registerSchedule(kind, () => new EvenHours())).toThrow(expect.objectContaining({ code: 'option.invalid' }))
    }
  })
})

describe('zones of a schedule', () => {
  it('are those of all its parts, without UTC, which has no rules', () => {
    expect(zonesOf(cron('* * * * *'))).toEqual([])
    expect(zonesOf(once('2026-06-01T00:00:00Z'))).toEqual([])
    expect(zonesOf(new EvenHours())).toEqual(['Europe/Oslo'])
    expect(zonesOf(cron('* * * * *', { timezone: 'Asia/Tokyo', exclude: [holidays] }))).toEqual(['Asia/Tokyo', 'Europe/Oslo'])
  })
})
