import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideGap, PassedInstants, parseRecovery, type RecoveryPolicy, singleRecords } from '../../src/model/recovery.ts'

const hour = 3_600_000
const now = Date.UTC(2026, 0, 10)
/** The instants of an hourly schedule in the last `count` hours, the last an hour before now. */
const hourly = (count: number) => Array.from({ length: count }, (_, i) => now - (count - i) * hour)

describe('the decision about a gap', () => {
  it('JB-15 200 hours down, bounded to 24 hours: 24 run and 176 are missed', () => {
    const instants = Array.from({ length: 200 }, (_, i) => now - (199 - i) * hour)
    const { run, passed } = decideGap({ strategy: 'bounded', maxAgeMs: 24 * hour }, instants, now)
    expect(run.map(({ at }) => at)).toEqual(instants.slice(-24))
    expect(passed.map(({ from, to, count, state, reason }) => [from, to, count, state, reason])).toEqual(
      instants.slice(0, 176).map((at) => [at, at, 1, 'missed', 'downtime']),
    )
  })

  it('JB-15 bounded keeps the newest within the age, then within the count', () => {
    const instants = hourly(10)
    const runs = (policy: Omit<RecoveryPolicy, 'strategy'>) =>
      decideGap({ strategy: 'bounded', ...policy }, instants, now).run.map(({ at }) => at)
    expect(runs({ maxOccurrences: 3 })).toEqual(instants.slice(-3))
    expect(runs({ maxOccurrences: 3, maxAgeMs: 2 * hour })).toEqual(instants.slice(-1))
    expect(runs({ maxOccurrences: 3, maxAgeMs: 100 * hour })).toEqual(instants.slice(-3))
    expect(runs({ maxOccurrences: 0 })).toEqual([])
    expect(runs({ maxAgeMs: 0 })).toEqual([])
  })

  it('JB-15 all runs everything, oldest first', () => {
    expect(decideGap({ strategy: 'all' }, hourly(3), now)).toEqual({
      run: hourly(3).map((at) => ({ at, span: null })),
      passed: [],
    })
  })

  it('JB-15 last runs the newest and records the others as missed', () => {
    const { run, passed } = decideGap({ strategy: 'last' }, hourly(3), now)
    expect(run).toEqual([{ at: now - hour, span: null }])
    expect(passed.map(({ from, state }) => [from, state])).toEqual(
      hourly(3)
        .slice(0, 2)
        .map((at) => [at, 'missed']),
    )
  })

  it('JB-15 mark-missed runs nothing', () => {
    const { run, passed } = decideGap({ strategy: 'mark-missed' }, hourly(2), now)
    expect([run, passed.length]).toEqual([[], 2])
  })

  it('JB-15 compressed runs once and tells the span it covers; the others are skipped, not missed', () => {
    const { run, passed } = decideGap({ strategy: 'compressed' }, hourly(5), now)
    expect(run).toEqual([{ at: now - hour, span: { from: now - 5 * hour, to: now - hour, count: 5 } }])
    expect(new Set(passed.map(({ state, reason }) => `${state} ${reason}`))).toEqual(new Set(['skipped compressed']))
    expect(passed).toHaveLength(4)
  })

  it('comes to nothing when nothing was in the gap', () => {
    for (const strategy of ['all', 'last', 'mark-missed', 'compressed'] as const)
      expect(decideGap({ strategy }, [], now)).toEqual({ run: [], passed: [] })
  })

  it('F42 resolves millions of instants while it keeps hardly any of them', () => {
    const count = 3_000_000
    let made = 0
    function* seconds(): Generator<number, void, undefined> {
      while (made < count) yield now - (count - made++) * 1000
    }
    const { run, passed } = decideGap({ strategy: 'bounded', maxOccurrences: 100 }, seconds(), now)
    expect([made, run.length, passed.length]).toEqual([count, 100, 1])
    expect(passed[0]).toEqual({
      from: now - count * 1000,
      to: now - 101_000,
      count: count - 100,
      state: 'missed',
      reason: 'downtime',
    })
  })

  it('JB-15 accounts for every instant exactly once, whatever the strategy', () => {
    const policy: fc.Arbitrary<RecoveryPolicy> = fc.oneof(
      fc.constantFrom({ strategy: 'all' }, { strategy: 'last' }, { strategy: 'mark-missed' }, {
        strategy: 'compressed',
      } as const),
      fc.record({ strategy: fc.constant('bounded' as const), maxOccurrences: fc.nat(1000), maxAgeMs: fc.nat(4_000_000) }),
    )
    const steps = fc.oneof(
      fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 50 }),
      fc.integer({ min: 990, max: 2500 }).map((length) => Array<number>(length).fill(1000)),
    )
    fc.assert(
      fc.property(policy, steps, (strategy, gaps) => {
        let at = now - gaps.reduce((sum, ms) => sum + ms, 0)
        const instants = gaps.map((ms) => (at += ms))
        const { run, passed } = decideGap(strategy, instants, now)
        const runs = new Set(run.map((one) => one.at))
        const left = instants.filter((one) => !runs.has(one))
        expect(runs.size).toBe(run.length)
        expect(run.map((one) => one.at)).toEqual([...runs].sort((a, b) => a - b))
        expect(passed.reduce((sum, { count }) => sum + count, 0)).toBe(left.length)
        if (left.length > singleRecords)
          expect([passed.length, passed[0]?.from, passed[0]?.to]).toEqual([1, left[0], left.at(-1)])
        else expect(passed.map(({ from, to }) => [from, to])).toEqual(left.map((one) => [one, one]))
      }),
    )
  })
})

describe('passed instants', () => {
  it('have a record each up to 1,000, and one range from then on', () => {
    const passed = new PassedInstants()
    const as = { state: 'missed', reason: 'downtime' } as const
    expect(passed.records(as)).toEqual([])
    for (let at = 1; at <= singleRecords; at++) passed.add(at)
    expect(passed.records(as)).toHaveLength(singleRecords)
    passed.add(2000)
    expect(passed.records(as)).toEqual([{ from: 1, to: 2000, count: singleRecords + 1, ...as }])
  })
})

describe('recovery options', () => {
  it('are a strategy by name, or a strategy with its bounds', () => {
    expect(parseRecovery('last', 'recovery')).toEqual({ strategy: 'last' })
    expect(parseRecovery({ strategy: 'all' }, 'recovery')).toEqual({ strategy: 'all' })
    expect(parseRecovery({ strategy: 'bounded', maxAge: '24h', maxOccurrences: 10 }, 'recovery')).toEqual({
      strategy: 'bounded',
      maxAgeMs: 24 * hour,
      maxOccurrences: 10,
    })
  })

  it.each([
    ['an unknown strategy', 'newest'],
    ['bounded without a bound', { strategy: 'bounded' }],
    ['bounded by name only', 'bounded'],
    ['a bound for another strategy', { strategy: 'last', maxOccurrences: 3 }],
    ['a count beyond 1,000', { strategy: 'bounded', maxOccurrences: 1001 }],
    ['an option that is not known', { strategy: 'bounded', maxCount: 3 }],
  ])('refuse %s, naming the field', (_, options) => {
    expect(() => parseRecovery(options as never, 'job.recovery')).toThrow(/job\.recovery/)
  })
})
