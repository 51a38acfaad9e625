import { describe, expect, it } from 'vitest'
import { PunctualError } from '../../src/errors.ts'
import { cron } from '../../src/schedule/cron.ts'

/** The first five minutes of the year, days of January, … that a text matches, read off its instants. */
function valuesOf(text: string, from: string, to: string, value: (date: Date) => number): number[] {
  return [...new Set([...cron(text).between(new Date(from), new Date(to))].map(value))].sort((a, b) => a - b)
}

const seconds = (text: string) =>
  valuesOf(`${text} * * * * *`, '2026-01-01T00:00Z', '2026-01-01T00:01Z', (d) => d.getUTCSeconds())
const minutes = (text: string) => valuesOf(`${text} * * * *`, '2026-01-01T00:00Z', '2026-01-01T01:00Z', (d) => d.getUTCMinutes())
const hours = (text: string) => valuesOf(`0 ${text} * * *`, '2026-01-01T00:00Z', '2026-01-02T00:00Z', (d) => d.getUTCHours())
const days = (text: string) => valuesOf(`0 0 ${text} * *`, '2026-01-01T00:00Z', '2026-02-01T00:00Z', (d) => d.getUTCDate())
const months = (text: string) => valuesOf(`0 0 1 ${text} *`, '2026-01-01T00:00Z', '2027-01-01T00:00Z', (d) => d.getUTCMonth() + 1)
const weekdays = (text: string) => valuesOf(`0 0 * * ${text}`, '2026-01-04T00:00Z', '2026-01-11T00:00Z', (d) => d.getUTCDay())

describe('TM-16 cron text that is accepted', () => {
  it.each([
    [minutes, '5', [5]],
    [minutes, '05', [5]],
    [minutes, '0,15,45', [0, 15, 45]],
    [minutes, '10-13', [10, 11, 12, 13]],
    [minutes, '58-1', [0, 1, 58, 59]],
    [minutes, '*/20', [0, 20, 40]],
    [minutes, '*/59', [0, 59]],
    [minutes, '5/15', [5, 20, 35, 50]],
    [minutes, '10-30/10', [10, 20, 30]],
    [minutes, '50-10/10', [0, 10, 50]],
    [minutes, '1,10-12,30/15', [1, 10, 11, 12, 30, 45]],
    [minutes, '3,3,3', [3]],
    [seconds, '29-31', [29, 30, 31]],
    [seconds, '*/30', [0, 30]],
    [hours, '22-2', [0, 1, 2, 22, 23]],
    [hours, '22-4/2', [0, 2, 4, 22]],
    [hours, '8-18/5', [8, 13, 18]],
    [hours, '*/23', [0, 23]],
    [days, '*/10', [1, 11, 21, 31]],
    [days, '5/10', [5, 15, 25]],
    [days, '29-2', [1, 2, 29, 30, 31]],
    [days, '*/31', [1]],
    [months, 'JAN,jul,Dec', [1, 7, 12]],
    [months, 'NOV-FEB', [1, 2, 11, 12]],
    [months, '*/4', [1, 5, 9]],
    [months, '2/5', [2, 7, 12]],
    [weekdays, '0', [0]],
    [weekdays, '7', [0]],
    [weekdays, 'SUN', [0]],
    [weekdays, 'mon-Fri', [1, 2, 3, 4, 5]],
    [weekdays, 'FRI-MON', [0, 1, 5, 6]],
    [weekdays, 'MON-SUN', [0, 1, 2, 3, 4, 5, 6]],
    [weekdays, '0-7', [0, 1, 2, 3, 4, 5, 6]],
    [weekdays, '1-7', [0, 1, 2, 3, 4, 5, 6]],
    [weekdays, '5-7', [0, 5, 6]],
    [weekdays, '7-2', [0, 1, 2]],
    [weekdays, '7-7', [0]],
    [weekdays, 'SAT-SUN', [0, 6]],
    [weekdays, '1-7/2', [0, 1, 3, 5]],
    [weekdays, '1/2', [1, 3, 5]],
    [weekdays, '*/2', [0, 2, 4, 6]],
    [weekdays, '7/3', [0, 3, 6]],
  ] as const)('%o reads %s', (read, text, expected) => {
    expect(read(text)).toEqual(expected)
  })

  it.each([
    ['@yearly', '0 0 1 1 *'],
    ['@annually', '0 0 1 1 *'],
    ['@monthly', '0 0 1 * *'],
    ['@weekly', '0 0 * * 0'],
    ['@daily', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@hourly', '0 * * * *'],
    [' @Daily ', '0 0 * * *'],
    ['  0\t9 * *  MON-fri\n', '0 9 * * 1-5'],
    ['0 0 9 ? * *', '0 9 * * *'],
    ['? ? ? ? ?', '* * * * *'],
  ])('%j means %s', (text, same) => {
    const window = [new Date('2026-01-01T00:00Z'), new Date('2026-03-01T00:00Z')] as const
    expect([...cron(text).between(...window)]).toEqual([...cron(same).between(...window)])
  })
})

describe('TM-16 cron text that is refused', () => {
  it.each([
    ['', 0, undefined],
    ['   ', 0, undefined],
    ['* * * *', 7, undefined],
    ['* * * * * * *', 12, undefined],
    ['0 0 1 1 * 2026 x', 15, undefined],
    ['60 * * * *', 0, 'minute'],
    ['* 24 * * *', 2, 'hour'],
    ['* * 0 * *', 4, 'day-of-month'],
    ['* * 32 * *', 4, 'day-of-month'],
    ['* * * 0 *', 6, 'month'],
    ['* * * 13 *', 6, 'month'],
    ['* * * * 8', 8, 'day-of-week'],
    ['60 * * * * *', 0, 'second'],
    ['*/0 * * * *', 2, 'minute'],
    ['*/60 * * * *', 2, 'minute'],
    ['* */24 * * *', 4, 'hour'],
    ['0 0 */32 * *', 6, 'day-of-month'],
    ['0 0 * */13 *', 8, 'month'],
    ['0 0 * * */7', 10, 'day-of-week'],
    ['1,,2 * * * *', 2, 'minute'],
    ['1, * * * *', 2, 'minute'],
    [',1 * * * *', 0, 'minute'],
    ['1- * * * *', 2, 'minute'],
    ['-1 * * * *', 0, 'minute'],
    ['1-2-3 * * * *', 3, 'minute'],
    ['1/ * * * *', 2, 'minute'],
    ['1/2/3 * * * *', 3, 'minute'],
    ['*-5 * * * *', 1, 'minute'],
    ['*5 * * * *', 1, 'minute'],
    ['5* * * * *', 1, 'minute'],
    ['** * * * *', 1, 'minute'],
    ['?/5 * * * *', 0, 'minute'],
    ['1,? * * * *', 2, 'minute'],
    ['1.5 * * * *', 1, 'minute'],
    ['+5 * * * *', 0, 'minute'],
    ['0x5 * * * *', 1, 'minute'],
    ['005 * * * *', 0, 'minute'],
    ['٥ * * * *', 0, 'minute'],
    ['JAN * * * *', 0, 'minute'],
    ['* * * MON *', 6, 'month'],
    ['* * * * JAN', 8, 'day-of-week'],
    ['* * * JANUARY *', 6, 'month'],
    ['* * * * MONDAY', 8, 'day-of-week'],
    ['* * * JA *', 6, 'month'],
    ['* * * * L', 8, 'day-of-week'],
    ['* L * * *', 2, 'hour'],
    ['0 0 L-31 * *', 6, 'day-of-month'],
    ['0 0 W * *', 4, 'day-of-month'],
    ['0 0 WL * *', 4, 'day-of-month'],
    ['0 0 32W * *', 4, 'day-of-month'],
    ['0 0 1-5W * *', 7, 'day-of-month'],
    ['0 0 5L * *', 5, 'day-of-month'],
    ['0 0 L/2 * *', 5, 'day-of-month'],
    ['0 0 * * 5W', 9, 'day-of-week'],
    ['0 0 * * 1-5L', 11, 'day-of-week'],
    ['0 0 * * 5#0', 10, 'day-of-week'],
    ['0 0 * * 5#6', 10, 'day-of-week'],
    ['0 0 * * 5#', 10, 'day-of-week'],
    ['0 0 * * 8#1', 8, 'day-of-week'],
    ['0 0 5#1 * *', 5, 'day-of-month'],
    ['@reboot', 0, undefined],
    ['@every 5m', 0, undefined],
    ['@daily x', 7, undefined],
    ['@', 0, undefined],
    ['H * * * *', 0, 'minute'],
    ['CRON_TZ=UTC 0 0 * * *', 0, 'second'],
    ['not a cron at all', 0, 'minute'],
    [`0 0 * * ${'1,'.repeat(200)}1`, 256, undefined],
  ])('%j, at position %i', (text, position, field) => {
    const error = refusal(() => cron(text))
    expect(error.code).toBe('schedule.invalid')
    expect(error.details).toMatchObject({ position, reason: expect.stringMatching(/\S/) })
    expect(error.details.field).toBe(field)
    expect(error.message).toContain(error.details.reason)
    if (text.length <= 256) expect(error.details.text).toBe(text)
  })

  it.each([undefined, null, 5, {}, ['* * * * *']])('%j, which is no text', (text) => {
    expect(refusal(() => cron(text as unknown as string)).code).toBe('schedule.invalid')
  })

  it('names an unknown option and those that exist', () => {
    const error = refusal(() => cron('* * * * *', { timeZone: 'UTC' } as object))
    expect(error.code).toBe('option.unknown')
    expect(error.details).toMatchObject({
      option: 'timeZone',
      allowed: expect.arrayContaining(['timezone', 'skippedTime', 'repeatedTime', 'start']),
    })
  })

  it('names a wrong choice and those that exist', () => {
    expect(refusal(() => cron('* * * * *', { skippedTime: 'later' } as object)).details).toMatchObject({
      option: 'skippedTime',
      allowed: ['run', 'skip'],
    })
    expect(refusal(() => cron('* * * * *', { repeatedTime: 'last' } as object)).code).toBe('option.invalid')
  })

  it('refuses a zone that does not exist', () => {
    expect(refusal(() => cron('* * * * *', { timezone: 'Mars/Olympus' })).code).toBe('zone.invalid')
  })
})

function refusal(act: () => unknown): PunctualError {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(PunctualError)
    return error as PunctualError
  }
  throw new Error('it was accepted')
}
