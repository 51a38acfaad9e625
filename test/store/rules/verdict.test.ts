import { describe, expect, it } from 'vitest'
import { sources } from '../../../src/model/lifecycle.ts'
import { type DueWork, isStranded, keepsVersion, verdictOn } from '../../../src/store/rules/verdict.ts'

const work: DueWork = {
  tenant: 'acme',
  job: 'report',
  source: 'schedule',
  scheduledAt: 100,
  dueAt: 100,
  startWithinMs: null,
  hasBegun: false,
}
const pause = { id: 1, tenant: 'acme', job: 'report', from: 50, to: 150, reason: null, by: null }

describe('due work', () => {
  it.each([
    ['may run', {}, [], 120, null],
    ['is missed past its deadline', { startWithinMs: 10 }, [], 111, 'missed'],
    ['may run at its deadline', { startWithinMs: 10 }, [], 110, null],
    ['that has begun has no deadline', { startWithinMs: 10, hasBegun: true }, [], 999, null],
    ['JB-7 that was planned for a pause is skipped, also after it', {}, [pause], 500, 'skipped'],
    ['that was planned for the end of a pause may run', { scheduledAt: 150 }, [pause], 150, null],
    ['that was enqueued waits for the end of a pause', { source: 'deferred' }, [pause], 120, 'pause'],
    ['that was enqueued runs after a pause', { source: 'deferred' }, [pause], 150, null],
    ['that has begun waits for the end of a pause', { hasBegun: true }, [pause], 120, 'pause'],
    ['of another tenant may run', { tenant: 'globex' }, [pause], 120, null],
  ] as const)('%s', (_, over, pauses, now, expected) => {
    const verdict = verdictOn({ ...work, ...over } as DueWork, pauses, now)
    expect(verdict && ('state' in verdict ? verdict.state : verdict.reason)).toBe(expected)
  })
})

describe('planned work is stranded', () => {
  it.each([
    ['when it came due while no node was alive', {}, 99, 100, true],
    ['not when a node was alive at its due time', {}, 100, 500, false],
    ['not before it is due', {}, 50, 99, false],
    ['not when it has begun', { hasBegun: true }, 50, 100, false],
    ['not when it was enqueued', { source: 'deferred' }, 50, 100, false],
  ] as const)('%s', (_, over, lastAliveAt, now, expected) => {
    expect(isStranded({ ...work, ...over } as DueWork, lastAliveAt, now)).toBe(expected)
  })
})

it('planned work and runs of backfills keep the version of their instant, other work does not', () => {
  const kept = sources.filter(keepsVersion)
  expect(kept.toSorted()).toEqual(['backfill', 'recovery', 'schedule'])
})
