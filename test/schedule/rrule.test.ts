import { describe, expect, it } from 'vitest'
import { PunctualError } from '../../src/errors.ts'
import { rrule } from '../../src/schedule/rrule.ts'
import { neverFires } from '../../src/schedule/schedule.ts'

const at = (text: string) => new Date(text)

function all(text: string, options?: Parameters<typeof rrule>[1]): string[] {
  const found = rrule(text, options).between(at('2000-01-01T00:00:00Z'), at('2040-01-01T00:00:00Z'))
  return [...found].map((date) => date.toISOString().replace('.000Z', 'Z'))
}

describe('JB-4 RFC 5545 rules', () => {
  it.each([
    [
      'COUNT',
      'DTSTART:20260131T090000Z\nRRULE:FREQ=MONTHLY;COUNT=3',
      ['2026-01-31T09:00:00Z', '2026-03-31T09:00:00Z', '2026-05-31T09:00:00Z'],
    ],
    [
      'UNTIL',
      'DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;UNTIL=20260103T090000Z',
      ['2026-01-01T09:00:00Z', '2026-01-02T09:00:00Z', '2026-01-03T09:00:00Z'],
    ],
    [
      'UNTIL a date',
      'DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;UNTIL=20260102',
      ['2026-01-01T09:00:00Z', '2026-01-02T09:00:00Z'],
    ],
    [
      'BYDAY with a number',
      'DTSTART:20260101T090000Z\nRRULE:FREQ=MONTHLY;BYDAY=2FR,-1MO;COUNT=3',
      ['2026-01-09T09:00:00Z', '2026-01-26T09:00:00Z', '2026-02-13T09:00:00Z'],
    ],
    [
      'BYSETPOS',
      'DTSTART:20260101T090000Z\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=2',
      ['2026-01-30T09:00:00Z', '2026-02-27T09:00:00Z'],
    ],
    [
      'EXDATE',
      'DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260102T090000Z',
      ['2026-01-01T09:00:00Z', '2026-01-03T09:00:00Z'],
    ],
    [
      'RDATE',
      'DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=1\nRDATE:20260105T100000Z',
      ['2026-01-01T09:00:00Z', '2026-01-05T10:00:00Z'],
    ],
    [
      'TZID',
      'DTSTART;TZID=Europe/Oslo:20260328T090000\nRRULE:FREQ=DAILY;COUNT=2',
      ['2026-03-28T08:00:00Z', '2026-03-29T07:00:00Z'],
    ],
    [
      'spaces for line breaks',
      'DTSTART:20260101T090000Z RRULE:FREQ=WEEKLY;COUNT=2',
      ['2026-01-01T09:00:00Z', '2026-01-08T09:00:00Z'],
    ],
    ['a date', 'DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=YEARLY;COUNT=2', ['2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z']],
    ['small letters and no name', 'dtstart:20260101T090000z\nfreq=daily;count=1', ['2026-01-01T09:00:00Z']],
  ])('reads %s', (_, text, expected) => {
    expect(all(text)).toEqual(expected)
  })

  it('reads dates without a zone in the zone of the options', () => {
    const text = 'DTSTART:20260328T090000\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260329T090000'
    expect(all(text, { timezone: 'Europe/Oslo' })).toEqual(['2026-03-28T08:00:00Z', '2026-03-30T07:00:00Z'])
    expect(all(text)).toEqual(['2026-03-28T09:00:00Z', '2026-03-30T09:00:00Z'])
  })

  it('drops times that a clock change skips, as the RFC orders', () => {
    expect(all('DTSTART;TZID=America/New_York:20250308T023000\nRRULE:FREQ=DAILY;COUNT=2')).toEqual([
      '2025-03-08T07:30:00Z',
      '2025-03-10T06:30:00Z',
    ])
  })

  it('takes the first pass of an overlap', () => {
    expect(all('DTSTART;TZID=America/New_York:20251102T013000\nRRULE:FREQ=DAILY;COUNT=2')).toEqual([
      '2025-11-02T05:30:00Z',
      '2025-11-03T06:30:00Z',
    ])
  })

  it('answers next and previous strictly, within bounds', () => {
    const schedule = rrule('DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY', {
      start: '2026-01-10T00:00:00Z',
      end: '2026-01-12T09:00:00Z',
    })
    expect(schedule.next(at('2020-01-01T00:00:00Z'))).toEqual(at('2026-01-10T09:00:00Z'))
    expect(schedule.next(at('2026-01-10T09:00:00Z'))).toEqual(at('2026-01-11T09:00:00Z'))
    expect(schedule.next(at('2026-01-11T09:00:00Z'))).toBeNull()
    expect(schedule.previous(at('2030-01-01T00:00:00Z'))).toEqual(at('2026-01-11T09:00:00Z'))
    expect(schedule.previous(at('2026-01-10T09:00:00Z'))).toBeNull()
  })

  it('has no instant where the rule never matches', () => {
    expect(neverFires(rrule('DTSTART:20260101T090000Z\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31'))).toBe(true)
  })
})

describe('TM-16 rules that are refused', () => {
  it.each([
    ['FREQ=DAILY', 0, 'exactly one DTSTART'],
    ['DTSTART:20260101T090000Z', 0, 'exactly one RRULE'],
    ['DTSTART:20260101T090000Z\nRRULE:COUNT=3', 31, 'FREQ is missing'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY', 42, 'exactly one RRULE'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=OFTEN', 31, 'FREQ'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;BYFOO=1', 42, 'the parts'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;BYHOUR=24', 42, 'outside 0 to 23'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=0', 42, 'outside 1'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=x', 42, 'outside 1'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;INTERVAL=0', 42, 'outside 1'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;BYDAY=XX', 42, 'BYDAY'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;FREQ=DAILY', 42, 'twice'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=1;UNTIL=20270101', 31, 'exclude each other'],
    ['DTSTART:20261301T090000Z\nRRULE:FREQ=DAILY', 8, 'not a date'],
    ['DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY\nEXDATE:20260102T090000Z,soon', 66, 'not a date'],
    ['DTSTART:20260101T090000Z\nDTEND:20260101T100000Z\nRRULE:FREQ=DAILY', 25, 'expected DTSTART'],
  ])('%j at %i: %s', (text, position, reason) => {
    let refusal: unknown
    try {
      rrule(text)
    } catch (error) {
      refusal = error
    }
    expect(refusal).toBeInstanceOf(PunctualError)
    expect(refusal).toMatchObject({ code: 'schedule.invalid', details: { position, reason: expect.stringContaining(reason) } })
  })

  it('with a zone that does not exist', () => {
    expect(() => rrule('DTSTART;TZID=Nowhere/At_All:20260101T090000\nRRULE:FREQ=DAILY')).toThrow(
      expect.objectContaining({ code: 'zone.invalid' }),
    )
  })
})
