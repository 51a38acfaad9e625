import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'
import { PunctualError } from '../../src/errors.ts'
import { bind, interval } from '../../src/schedule/interval.ts'
import { neverFires } from '../../src/schedule/schedule.ts'

const at = (text: string) => new Date(text)

function first(count: number, text: string, timezone = 'UTC'): string[] {
  const schedule = interval(text, { timezone })
  const found: string[] = []
  for (let date = schedule.next(new Date(-8.64e15)); date !== null && found.length < count; date = schedule.next(date)) {
    found.push(date.toISOString().replace('.000Z', 'Z'))
  }
  return found
}

describe('JB-4 intervals count from their anchor', () => {
  it.each([
    [
      'R/2026-01-31T00:00:00Z/P1M',
      ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31', '2026-06-30', '2026-07-31', '2026-08-31'],
    ],
    ['R/2027-11-30T00:00:00Z/P1M', ['2027-11-30', '2027-12-30', '2028-01-30', '2028-02-29', '2028-03-30', '2028-04-30']],
    ['R/2024-02-29T00:00:00Z/P1Y', ['2024-02-29', '2025-02-28', '2026-02-28', '2027-02-28', '2028-02-29']],
    ['R/2026-08-31T00:00:00Z/P6M', ['2026-08-31', '2027-02-28', '2027-08-31', '2028-02-29']],
    ['R/2026-10-31T00:00:00Z/P1Y1M', ['2026-10-31', '2027-11-30', '2028-12-31', '2030-01-31', '2031-02-28']],
    ['R/2026-01-30T00:00:00Z/P1M1D', ['2026-01-30', '2026-03-01', '2026-04-01', '2026-05-03']],
    ['R/2026-01-01T00:00:00Z/P3W', ['2026-01-01', '2026-01-22', '2026-02-12', '2026-03-05']],
    ['R/2026-01-01T00:00:00Z/P1Y2M10D', ['2026-01-01', '2027-03-11', '2028-05-21']],
    ['R/2026-12-30/P1D', ['2026-12-30', '2026-12-31', '2027-01-01']],
    ['R/20261230T000000Z/P1D', ['2026-12-30', '2026-12-31']],
  ])('%s ends months where they end, without drift', (text, expected) => {
    expect(first(expected.length, text)).toEqual(expected.map((date) => `${date}T00:00:00Z`))
  })

  it.each([
    // Days are the calendar's: the wall keeps its time, and a lost one moves on by the gap.
    ['R/2025-03-08T02:30:00/P1D', 'America/New_York', ['2025-03-08T07:30:00Z', '2025-03-09T07:30:00Z', '2025-03-10T06:30:00Z']],
    ['R/2025-11-01T01:30:00/P1D', 'America/New_York', ['2025-11-01T05:30:00Z', '2025-11-02T05:30:00Z', '2025-11-03T06:30:00Z']],
    // Hours are elapsed time.
    ['R/2025-03-08T02:30:00/PT24H', 'America/New_York', ['2025-03-08T07:30:00Z', '2025-03-09T07:30:00Z', '2025-03-10T07:30:00Z']],
    ['R/2025-11-02T00:30:00/PT1H', 'America/New_York', ['2025-11-02T04:30:00Z', '2025-11-02T05:30:00Z', '2025-11-02T06:30:00Z']],
    [
      'R/2025-10-04T02:15:00/P1D',
      'Australia/Lord_Howe',
      ['2025-10-03T15:45:00Z', '2025-10-04T15:45:00Z', '2025-10-05T15:15:00Z'],
    ],
    ['R/2018-11-03T00:00:00/P1D', 'America/Sao_Paulo', ['2018-11-03T03:00:00Z', '2018-11-04T03:00:00Z', '2018-11-05T02:00:00Z']],
    // 30 December 2011 was skipped: two land on one instant, which is there once.
    ['R/2011-12-29T12:00:00/P1D', 'Pacific/Apia', ['2011-12-29T22:00:00Z', '2011-12-30T22:00:00Z', '2011-12-31T22:00:00Z']],
    // An anchor with an offset is an instant; the calendar is still the zone's.
    ['R/2026-01-31T23:30:00Z/P1M', 'Europe/Oslo', ['2026-01-31T23:30:00Z', '2026-02-28T23:30:00Z', '2026-03-31T22:30:00Z']],
  ])('%s in %s', (text, timezone, expected) => {
    expect(first(expected.length, text, timezone)).toEqual(expected)
  })

  it.each([
    ['R3/2026-01-31T00:00:00Z/P1M', ['2026-01-31T00:00:00Z', '2026-02-28T00:00:00Z', '2026-03-31T00:00:00Z']],
    ['R1/2026-01-31T00:00:00Z/P1M', ['2026-01-31T00:00:00Z']],
    ['R2/2026-01-01T00:00:00Z/2026-01-01T00:10:00Z', ['2026-01-01T00:00:00Z', '2026-01-01T00:10:00Z']],
    ['R2/2026-01-01T00:00:00+01:00/PT1H', ['2025-12-31T23:00:00Z', '2026-01-01T00:00:00Z']],
    ['R3/2026-01-01T00:00:00Z/PT0.1S', ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.100Z', '2026-01-01T00:00:00.200Z']],
    ['R2/2026-01-01T00:00:00,5Z/PT1,5M', ['2026-01-01T00:00:00.500Z', '2026-01-01T00:01:30.500Z']],
    ['r2/2026-01-01t00:00z/pt1h', ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z']],
  ])('%s has this many in all', (text, expected) => {
    expect(first(10, text)).toEqual(expected)
    expect(interval(text).previous(new Date(8.64e15))?.getTime()).toBe(Date.parse(expected.at(-1) as string))
  })

  it('agrees with Temporal on random anchors, durations, zones and places in the row', () => {
    const zones = [
      'UTC',
      'America/New_York',
      'Europe/Oslo',
      'Australia/Lord_Howe',
      'America/Sao_Paulo',
      'Africa/Cairo',
      'Pacific/Apia',
    ]
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: Date.UTC(1995, 0, 1) / 1000, max: Date.UTC(2030, 0, 1) / 1000 }),
        fc.record({
          years: fc.nat(1),
          months: fc.nat(13),
          weeks: fc.nat(2),
          days: fc.nat(40),
          hours: fc.nat(30),
          minutes: fc.nat(90),
        }),
        fc.nat(150),
        (zone, second, parts, k) => {
          const duration = Temporal.Duration.from(parts)
          fc.pre(!duration.blank)
          const anchor = new Date(second * 1000).toISOString()
          const times = Temporal.Duration.from(
            Object.fromEntries(Object.entries(parts).map(([unit, amount]) => [unit, amount * k])),
          )
          const expected = Temporal.Instant.from(anchor).toZonedDateTimeISO(zone).add(times).epochMilliseconds
          const schedule = interval(`R/${anchor}/${duration}`, { timezone: zone })
          expect(schedule.nextMs(expected - 1)).toBe(expected)
          expect(schedule.previousMs(expected + 1)).toBe(expected)
        },
      ),
      { numRuns: 1200, seed: 5 },
    )
  })

  it('finds the next one far from its anchor, and steps forwards and backwards over the same instants', () => {
    const schedule = interval('R/1970-01-31T00:00:00Z/P1M')
    expect(schedule.next(at('2970-02-15T00:00:00Z'))).toEqual(at('2970-02-28T00:00:00Z'))
    expect(interval('R/1970-01-01T00:00:00Z/PT0.1S').next(at('2026-01-01T00:00:00.050Z'))).toEqual(at('2026-01-01T00:00:00.100Z'))
    const forwards = [...schedule.between(at('2020-01-01T00:00:00Z'), at('2022-01-01T00:00:00Z'))]
    const backwards: Date[] = []
    for (
      let date = schedule.previous(at('2022-01-01T00:00:00Z'));
      date && date >= at('2020-01-01T00:00:00Z');
      date = schedule.previous(date)
    )
      backwards.unshift(date)
    expect(forwards).toHaveLength(24)
    expect(backwards).toEqual(forwards)
    expect(schedule.previous(at('1970-01-31T00:00:00Z'))).toBeNull()
    expect(schedule.next(new Date(8.64e15))).toBeNull()
  })
})

describe('JB-4 a bare duration', () => {
  it('counts from the instant asked until it is bound to a start', () => {
    const schedule = interval('PT15M')
    expect(schedule.isAnchored).toBe(false)
    expect(schedule.next(at('2026-01-01T00:01:00Z'))).toEqual(at('2026-01-01T00:16:00Z'))
    expect(schedule.previous(at('2026-01-01T00:16:00Z'))).toEqual(at('2026-01-01T00:01:00Z'))
    expect([...schedule.between(at('2026-01-01T00:00:00Z'), at('2026-01-01T00:45:00Z'))]).toEqual([
      at('2026-01-01T00:15:00Z'),
      at('2026-01-01T00:30:00Z'),
    ])
    expect(interval('P1M').next(at('2026-01-31T00:00:00Z'))).toEqual(at('2026-02-28T00:00:00Z'))
    expect(neverFires(schedule)).toBe(false)
  })

  it('counts from its anchor once bound, and a bound one stays as it is', () => {
    const bound = bind(interval('P1M', { timezone: 'Europe/Oslo' }), Date.parse('2026-01-31T12:00:00Z'))
    expect(bound.next(at('2026-03-01T00:00:00Z'))).toEqual(at('2026-03-31T11:00:00Z'))
    expect(bound.toJSON()).toEqual({ kind: 'interval', text: 'R/2026-01-31T12:00:00.000Z/P1M', timezone: 'Europe/Oslo' })
    expect(bind(bound, 0)).toBe(bound)
  })
})

describe('TM-16 interval text that is refused', () => {
  it.each([
    ['', 'duration'],
    ['P', '100 ms'],
    ['PT', 'T must be followed'],
    ['P1DT', 'T must be followed'],
    ['PT0S', '100 ms'],
    ['P0D', '100 ms'],
    ['PT0.05S', '100 ms'],
    ['PT0.1001S', 'finer'],
    ['-PT5M', 'positive'],
    ['P-1D', 'positive'],
    ['P1.5D', 'whole numbers'],
    ['PT1.5H30M', 'smallest unit'],
    ['P1M2Y', 'expected a duration'],
    ['5 m', 'expected a duration'],
    ['PT15', 'expected a duration'],
    ['P99999999999Y', 'too long'],
    ['R0/2026-01-01T00:00:00Z/PT1H', 'R0'],
    ['R-1/2026-01-01T00:00:00Z/PT1H', 'whole number'],
    ['R1.5/2026-01-01T00:00:00Z/PT1H', 'whole number'],
    ['R5/', 'expected a duration'],
    ['R5', 'start'],
    ['R/PT1H/2026-01-01T00:00:00Z', 'duration/end'],
    ['R/2026-01-01T00:00:00Z/PT1H/PT1H', 'expected'],
    ['R/2026-02-30T00:00:00Z/PT1H', 'date and time'],
    ['R/2026-W05-1/PT1H', 'date and time'],
    ['R/2026-031/PT1H', 'date and time'],
    ['R/2026-01-01T25:00:00Z/PT1H', 'date and time'],
    ['R/2026-01-02T00:00:00Z/2026-01-01T00:00:00Z', 'after the start'],
    ['R/2026-01-01T00:00:00Z/2026-01-01T00:00:00Z', 'after the start'],
    ['R/2026-01-01T00:00:00Z/tomorrow', 'duration'],
    ['2026-01-01T00:00:00Z/PT1H', 'begins with R'],
  ])('%j: %s', (text, reason) => {
    let refusal: unknown
    try {
      interval(text)
    } catch (error) {
      refusal = error
    }
    expect(refusal).toBeInstanceOf(PunctualError)
    expect(refusal).toMatchObject({ code: 'schedule.invalid', details: { text, reason: expect.stringContaining(reason) } })
  })
})

describe('JB-4 intervals without a start', () => {
  const created = Date.parse('2026-01-01T00:00:00Z')
  const instants = (period: string | number) =>
    [...bind(interval(period), created).between(new Date(created + 1), new Date(created + 86_400_000 * 8))].map((date) =>
      date.toISOString().slice(5, 19),
    )

  it.each([
    ['5m', 'PT5M'],
    ['1h30m', 'PT1H30M'],
    ['1.5h', 'PT1H30M'],
    ['90s', 'PT90S'],
    [90_000, 'PT90S'],
    ['1d', 'P1D'],
    ['1w', 'P1W'],
    ['1m500ms', 'PT60.5S'],
  ])('%s is the same as %s', (short, iso) => {
    expect(instants(short)).toEqual(instants(iso))
    expect(interval(short).describe()).toBe(interval(iso).describe())
    expect(interval(interval(short).toJSON().text as string).describe()).toBe(interval(iso).describe())
  })

  it('a number of repetitions counts from the creation of the job', () => {
    expect(instants('R3/PT1H')).toEqual(['01-01T01:00:00', '01-01T02:00:00', '01-01T03:00:00'])
    expect(instants('R3/1h')).toEqual(instants('R3/PT1H'))
    expect(interval('R3/PT1H').describe()).toBe('Every hour, 3 times in all (UTC)')
    const months = bind(interval('R2/P1M'), Date.parse('2026-01-31T00:00:00Z'))
    expect([...months.between(at('2026-02-01T00:00:00Z'), at('2027-01-01T00:00:00Z'))]).toEqual([
      at('2026-02-28T00:00:00Z'),
      at('2026-03-31T00:00:00Z'),
    ])
  })

  it.each(['5', 'm', '5x', '5m1h', '-5m', '', '50ms', 'R0/5m', 'R/', 'R3/2026-01-01T00:00:00Z'])('%j is refused', (text) => {
    expect(() => interval(text)).toThrow(PunctualError)
  })

  it.each(['+25:00', '+24:00', '-99', '+0060', '+23:60'])('an offset of %s is refused', (offset) => {
    expect(() => interval(`R/2026-01-01T00:00:00${offset}/PT1H`)).toThrow(expect.objectContaining({ code: 'schedule.invalid' }))
  })
})
