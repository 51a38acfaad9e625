import { describe, expect, it } from 'vitest'
import { cron } from '../../src/schedule/cron.ts'
import { interval } from '../../src/schedule/interval.ts'
import { lint } from '../../src/schedule/lint.ts'
import { once } from '../../src/schedule/once.ts'
import { parseSchedule } from '../../src/schedule/parse-text.ts'
import { preview } from '../../src/schedule/preview.ts'
import { zoneNamed } from '../../src/time/zone.ts'

const ms = (text: string) => Date.parse(text)

describe('JB-4 preview', () => {
  it('shows the next instants on the wall and in UTC, and marks the overlap', () => {
    const rows = preview(cron('30 1,2 * * *', { timezone: 'Europe/Warsaw', repeatedTime: 'both' }), ms('2026-10-24T12:00:00Z'), 4)
    expect(rows).toEqual([
      { utc: '2026-10-24T23:30:00Z', local: '2026-10-25T01:30:00', offset: '+02:00', weekday: 'Sun', mark: null },
      { utc: '2026-10-25T00:30:00Z', local: '2026-10-25T02:30:00', offset: '+02:00', weekday: 'Sun', mark: 'first-pass' },
      { utc: '2026-10-25T01:30:00Z', local: '2026-10-25T02:30:00', offset: '+01:00', weekday: 'Sun', mark: 'second-pass' },
      { utc: '2026-10-26T00:30:00Z', local: '2026-10-26T01:30:00', offset: '+01:00', weekday: 'Mon', mark: null },
    ])
  })

  it('marks the instant after a gap, and the first one with another offset', () => {
    const marks = (text: string) =>
      preview(cron(text, { timezone: 'Europe/Warsaw' }), ms('2026-03-28T00:00:00Z'), 3).map((row) => row.mark)
    expect(marks('30 2 * * *')).toEqual([null, 'after-gap', null])
    expect(marks('0 12 * * *')).toEqual([null, 'changed', null])
  })

  it('shows fewer when there are fewer, and another wall when asked', () => {
    expect(preview(once('2026-01-01T00:00:00Z'), ms('2026-01-01T00:00:00Z'), 5)).toEqual([])
    expect(
      preview(interval('R2/2026-01-01T00:00:00.5Z/PT1H'), 0, 5, zoneNamed('Asia/Kathmandu')).map((row) => row.local + row.offset),
    ).toEqual(['2026-01-01T05:45:00.500+05:45', '2026-01-01T06:45:00.500+05:45'])
  })

  it('shows offsets with seconds, as they were before 1972', () => {
    expect(preview(cron('0 12 * * *', { timezone: 'Africa/Monrovia' }), ms('1971-06-01T00:00:00Z'), 1)).toMatchObject([
      { utc: '1971-06-01T12:44:30Z', local: '1971-06-01T12:00:00', offset: '-00:44:30' },
    ])
  })
})

describe('JB-4 lint', () => {
  const codes = (text: string, options?: Parameters<typeof cron>[1]) =>
    lint(cron(text, options), ms('2026-01-01T00:00:00Z')).map((warning) => warning.code)
  const timezone = 'Europe/Warsaw'

  it.each([
    ['0 0 31 2 *', {}, ['never-fires']],
    ['0 0 * * *', { end: '2020-01-01T00:00:00Z' }, ['never-fires']],
    ['30 2 * * *', { timezone }, ['made-up']],
    ['30 2 * * *', { timezone, skippedTime: 'skip' }, []],
    ['30 2 * * *', { timezone: 'UTC' }, []],
    ['30 12 * * *', { timezone }, []],
    ['*/30 2 * * *', { timezone }, ['made-up', 'fires-twice']],
    ['30 2 * * *', { timezone, repeatedTime: 'both' }, ['made-up', 'fires-twice']],
    // Regular all day long, clock change or not.
    ['*/5 * * * *', { timezone }, []],
    ['* * * * * *', {}, ['too-often']],
    ['0,5 * * * * *', {}, ['too-often']],
    ['*/10 * * * * *', {}, []],
    ['0 12 13 * 5', {}, ['both-day-fields']],
    ['0 12 13 * ?', {}, []],
  ] as const)('%s %j: %j', (text, options, expected) => {
    expect(codes(text, options)).toEqual(expected)
  })

  it('says where it happens first', () => {
    expect(lint(cron('30 2 * * *', { timezone }), ms('2026-04-01T00:00:00Z'))).toMatchObject([
      { code: 'made-up', at: '2027-03-28T01:00:00.000Z' },
    ])
  })

  it('has something to say about other kinds too', () => {
    expect(lint(interval('PT5S'), 0)).toMatchObject([{ code: 'too-often' }])
    expect(lint(once('2020-01-01T00:00:00Z'), ms('2026-01-01T00:00:00Z'))).toMatchObject([{ code: 'never-fires' }])
  })
})

describe('JB-4 text of any kind', () => {
  it.each([
    ['0 9 * * *', 'cron'],
    ['@daily', 'cron'],
    ['  */5 * * * *', 'cron'],
    ['PT15M', 'interval'],
    ['p1d', 'interval'],
    ['R5/2026-01-31T00:00:00Z/P1M', 'interval'],
    ['R/2026-01-31T00:00:00/P1M', 'interval'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY', 'rrule'],
    ['RRULE:FREQ=DAILY\nDTSTART:20260101T090000Z', 'rrule'],
    ['2026-11-15T06:00:00Z', 'once'],
    ['2026-11-15T06:00+01:00', 'once'],
  ])('%j is %s', (text, kind) => {
    expect(parseSchedule(text).kind).toBe(kind)
  })

  it.each(['', 'tomorrow', '2026-11-15T06:00:00', '-PT5M', 'R0/2026-01-01T00:00:00Z/PT1H', 'FREQ=DAILY'])(
    '%j is refused',
    (text) => {
      expect(() => parseSchedule(text)).toThrow(expect.objectContaining({ code: 'schedule.invalid' }))
    },
  )

  it('takes a zone', () => {
    expect(parseSchedule('0 2 * * *', { timezone: 'Europe/Warsaw' }).next(new Date('2026-10-24T12:00:00Z'))).toEqual(
      new Date('2026-10-25T00:00:00Z'),
    )
  })
})
