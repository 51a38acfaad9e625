import { describe, expect, test } from 'vitest'
import { causeText } from '../../dashboard/src/data/cause.ts'
import { wordsOf } from '../../dashboard/src/data/schedule-words.ts'
import { cron } from '../../src/schedule/cron.ts'

describe('schedules in words', () => {
  test.each([
    ['30 2 * * *', 'Every day at 02:30'],
    ['0 9,17 * * *', 'Every day at 09:00 and 17:00'],
    ['10 * * * *', 'Every hour at minute 10'],
    ['30 */2 * * *', 'Every 2 hours at minute 30'],
    ['5/20 * * * *', 'Every 20 minutes from minute 5'],
    ['0 1/4 * * *', 'Every 4 hours from 01:00'],
    ['0 9 * * MON-FRI', 'At 09:00, Monday through Friday'],
    ['0 6 1 * *', 'At 06:00, on day 1 of the month'],
  ])('%s is %s', (text, words) => {
    const timezone = 'Europe/Warsaw'
    expect(wordsOf({ words: cron(text, { timezone }).describe(), timezone })).toBe(words)
  })
})

test('an outcome that nobody knows is named by its effect, without ids', () => {
  const label = 'PunctualError: Nobody knows whether the effect with key "charge" of scope "01a1eef8" in tenant "acme" happened'
  expect(causeText({ label, code: 'gate.held' })).toBe('Nobody knows whether “charge” happened')
  expect(causeText({ label: 'connect ECONNREFUSED', code: 'ECONNREFUSED' })).toBe('connect ECONNREFUSED')
})
