import { describe, expect, test } from 'vitest'
import { causeText } from '../../dashboard/src/data/cause.ts'
import { wordsOf } from '../../dashboard/src/data/schedule-words.ts'
import { nodesOf } from '../../dashboard/src/page/occurrence/turn-node.ts'
import { sentence } from '../../dashboard/src/page/overview/sentence.ts'
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

test('turns that follow each other are named as one span', () => {
  const turn = (number: number, nodeName: string | null) => ({ turn: number, nodeName, node: 'b0a1c2d3-0000' }) as never
  const turns = [turn(1, 'a'), turn(2, 'a'), turn(3, null), turn(4, 'a'), turn(5, 'a'), turn(6, 'a')]
  expect(nodesOf(turns, null)).toBe('a (turns 1, 2, 4 to 6); b0a1c2d3, gone (turn 3)')
  expect(nodesOf([turn(1, 'a')], null)).toBe('a')
  expect(nodesOf([], 'here')).toBe('here')
})

describe('the sentence', () => {
  const jobs = {
    total: 4,
    onTime: 4,
    late: 0,
    failing: 0,
    missed: 0,
    paused: 0,
    orphaned: 0,
    disabled: 0,
    overridden: 0,
    capped: false,
  }
  const calm = {
    ...{ now: '2026-10-22T12:32:00Z', jobs, attention: [], paused: false, health: { state: 'ok', reasons: [] } },
    ...{ late: { jobs: 0, graceMs: 60_000, oldest: null }, failed: { lastHour: 0, dead: 0, causes: 0 }, running: { beating: 1 } },
  }
  const item = {
    kind: 'dead',
    job: 'mail',
    label: 'mailbox full',
    code: null,
    count: 9,
    firstAt: '2026-10-20T08:00:00Z',
    failing: false,
  }
  const said = (overview: object) =>
    sentence({ ...calm, ...overview } as never, 'UTC')
      .parts.map(({ text }) => text)
      .join('')
      .replaceAll('\u00a0', ' ')
      .trim()

  test('says when all is well', () => expect(said({})).toBe('All 4 jobs are on time.'))

  test('names the job that fails, and counts the others by their mark, not by their dead letters', () =>
    expect(
      said({
        jobs: { ...jobs, onTime: 1, failing: 2, orphaned: 1 },
        attention: [
          { ...item, kind: 'failing', job: 'nightly', count: 2, firstAt: null, label: 'no rates', failing: true },
          item,
        ],
        failed: { lastHour: 2, dead: 9, causes: 1 },
      }),
    ).toBe('nightly is failing: no rates, 2 times. 1 more job fails. 1 job is on time, 1 is orphaned.'))

  test('calls dead letters of a job that works again what they are', () =>
    expect(said({ attention: [item], failed: { lastHour: 0, dead: 9, causes: 1 } })).toBe(
      '9 dead letters wait for you: mailbox full in mail. 4 jobs are on time.',
    ))
})
