import { describe, expect, it } from 'vitest'
import { cron } from '../../src/schedule/cron.ts'

/** The dates of 2026 (a year that begins on a Thursday) on which a day pattern matches, or of another year. */
function dates(days: string, year = 2026): string[] {
  const all = cron(`0 0 ${days}`).between(new Date(Date.UTC(year, 0, 1)), new Date(Date.UTC(year + 1, 0, 1)))
  return [...all].map((date) => date.toISOString().slice(5, 10))
}

describe('JB-4 days that depend on their month', () => {
  it.each([
    ['L * *', ['01-31', '02-28', '03-31', '04-30', '05-31', '06-30', '07-31', '08-31', '09-30', '10-31', '11-30', '12-31']],
    ['L-0 2 *', ['02-28']],
    ['L-3 2,4 *', ['02-25', '04-27']],
    ['L-30 * *', ['01-01', '03-01', '05-01', '07-01', '08-01', '10-01', '12-01']],
    // 28 February and 31 January 2026 are Saturdays, 31 May is a Sunday.
    ['LW 1,2,5,6 *', ['01-30', '02-27', '05-29', '06-30']],
    ['L-1W 1-3 *', ['01-30', '02-27', '03-30']],
    // 15 February and 15 March are Sundays, 15 August is a Saturday.
    ['15W 2,3,4,8 *', ['02-16', '03-16', '04-15', '08-14']],
    // 1 February and 1 March are Sundays, 1 August is a Saturday: never into the month before.
    ['1W 2,3,8 *', ['02-02', '03-02', '08-03']],
    // 31 May is a Sunday, 31 October a Saturday; a month without the day has no run.
    ['31W 4,5,10,12 *', ['05-29', '10-30', '12-31']],
    ['30W 2 *', []],
    ['1W,15W,L 3 *', ['03-02', '03-16', '03-31']],
    ['L,1 6-7 *', ['06-01', '06-30', '07-01', '07-31']],
    ['* 1-3 5L', ['01-30', '02-27', '03-27']],
    ['* 5 SUNL', ['05-31']],
    ['* 5 7L', ['05-31']],
    ['* 1-3 5#2', ['01-09', '02-13', '03-13']],
    ['* 1-6 1#5', ['03-30', '06-29']],
    ['* 1 THU#1,thu#3', ['01-01', '01-15']],
    ['* 2 0#1,5L', ['02-01', '02-27']],
  ])('%s', (days, expected) => {
    expect(dates(days)).toEqual(expected)
  })

  it.each([
    ['13 * 5', 2026, 'either may match', 61],
    ['13 * *', 2026, 'only the day of month', 12],
    ['? * 5', 2026, 'only the day of week', 52],
    ['* * ?', 2026, 'every day', 365],
    ['* * *', 2028, 'every day of a leap year', 366],
    // A step makes a field set, even where it takes in every day.
    ['*/1 * 5', 2026, 'every day', 365],
    ['1-31 * 5', 2026, 'every day', 365],
    ['*/10 * 1', 2026, 'either may match', 90],
  ])('%s in %i: %s', (days, year, _, count) => {
    expect(dates(days, year)).toHaveLength(count)
  })

  it('knows leap years', () => {
    expect(dates('29 2 *', 2028)).toEqual(['02-29'])
    expect(dates('29 2 *', 2000)).toEqual(['02-29'])
    expect(dates('29 2 *', 1900)).toEqual([])
    expect(dates('L 2 *', 2100)).toEqual(['02-28'])
  })
})
