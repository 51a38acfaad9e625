import { describe, expect, it } from 'vitest'
import type { TurnEnd } from '../../../src/model/lifecycle.ts'
import { cascade } from '../../../src/model/settings.ts'
import { bareEnd } from '../../../src/model/turn.ts'
import { type InterruptedTurn, recover } from '../../../src/store/rules/recover.ts'

const turnsOf = (ends: readonly TurnEnd[]) => ends.map((end, i) => ({ turn: i + 1, ...bareEnd(end, 0) }))

const interrupted = (over: Partial<InterruptedTurn> & { ends?: readonly TurnEnd[] }): InterruptedTurn => ({
  by: 'lost',
  startedAt: 1,
  cancel: undefined,
  turns: turnsOf(over.ends ?? []),
  mostRecoveries: 2,
  settings: cascade({ retry: { max: 3, intervalMs: 1000, factor: 2 } }),
  source: 'deferred',
  delayMs: 0,
  ...over,
})

describe('TM-12 a lost turn', () => {
  it.each([
    [[], 'lost', 1000],
    [['lost'], 'lost', 2000],
    [['lost', 'lost'], 'dead', null],
    [['lost', 'lost', 'dead'], 'lost', 1000],
    [['parked', 'parked', 'parked'], 'lost', 1000],
  ] as const)('after %j ends as %s and waits %s ms: recoveries wait the backoff and cost no retries', (ends, end, delayMs) => {
    expect(recover(interrupted({ ends }))).toMatchObject({ end, delayMs })
  })

  it('is recovered even without retries', () => {
    const settings = cascade({ retry: { max: 0, intervalMs: 500 } })
    expect(recover(interrupted({ settings }))).toMatchObject({ end: 'lost', delayMs: 500 })
  })

  it('that was lost before and has not started again is not blamed', () => {
    expect(recover(interrupted({ ends: ['lost'], startedAt: null }))).toMatchObject({ end: 'released', delayMs: 0 })
    expect(recover(interrupted({ startedAt: null }))).toMatchObject({ end: 'lost' })
  })

  it('that was asked to cancel is canceled, with the reason', () => {
    expect(recover(interrupted({ cancel: 'paid' }))).toMatchObject({ end: 'canceled', reason: 'paid', delayMs: null })
    expect(recover(interrupted({ cancel: null, ends: ['lost', 'lost'] }))).toMatchObject({ end: 'canceled', reason: null })
  })

  it('waits in proportion to the delay the work was created with, where the job says so', () => {
    const settings = cascade({ retry: { strategy: 'proportional' } })
    expect(recover(interrupted({ settings, delayMs: 900_000 }))).toMatchObject({ delayMs: 90_000 })
  })
})

describe('JB-10 a stale turn', () => {
  it.each([
    [0, [], 'dead', null],
    [1, [], 'stale', 1000],
    [1, ['stale'], 'dead', null],
    [1, ['parked'], 'dead', null],
    [3, ['parked'], 'stale', 2000],
    [9, ['stale', 'stale'], 'dead', null],
  ] as const)('with %s retries after %j ends as %s and waits %s ms: it is a failed attempt', (max, ends, end, delayMs) => {
    const settings = cascade({ retry: { max, intervalMs: 1000, factor: 2 } })
    expect(recover(interrupted({ by: 'stale', ends, settings }))).toMatchObject({ end, delayMs })
  })

  it.each([
    [0, [], 'Past its deadline, without retries left'],
    [9, ['stale', 'lost'], 'Past its deadline after 2 recoveries'],
  ] as const)('with %s retries after %j has an error that says why it is the last', (max, ends, message) => {
    const settings = cascade({ retry: { max } })
    expect(recover(interrupted({ by: 'stale', ends, settings })).error).toEqual({ message, code: 'occurrence.stale' })
  })

  it('of scheduled work without retries left has failed', () => {
    const settings = cascade({ retry: { max: 0 } })
    const { end, reason, error } = recover(interrupted({ by: 'stale', source: 'schedule', settings }))
    expect([end, reason, error?.code]).toEqual(['failed', 'stale', 'occurrence.stale'])
  })
})
