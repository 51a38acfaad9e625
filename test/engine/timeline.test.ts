import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Timeline } from '../../src/engine/loops/timeline.ts'
import type { JobRecord, JobSpec, VersionRecord } from '../../src/model/job.ts'
import { newSpec } from '../support/new-spec.ts'

const start = Date.UTC(2026, 0, 1)
const second = 1000

function every(seconds: number, over: Partial<JobSpec> = {}): JobSpec {
  return newSpec({ schedule: { kind: 'cron', text: `*/${seconds} * * * * *`, timezone: 'UTC' }, ...over })
}

function timelineOf(...versions: readonly (readonly [spec: JobSpec, atSecond: number])[]): Timeline {
  const records = versions.map(
    ([spec, at], i): VersionRecord => ({ version: i + 1, spec, effectiveAt: start + at * second, createdAt: start, by: null }),
  )
  return new Timeline({ createdAt: start } as JobRecord, records)
}

/** The instants up to a second, in seconds since the start, each with its version. */
function ticks(timeline: Timeline, after: number, to: number): readonly string[] {
  const found: string[] = []
  for (let tick = timeline.next(start + after * second); tick && tick.at <= start + to * second; tick = timeline.next(tick.at))
    found.push(`${(tick.at - start) / second} v${tick.version.version}`)
  return found
}

describe('the timeline of a job', () => {
  it('JB-20 gives each instant to the version in force at it', () => {
    const timeline = timelineOf([every(10), 0], [every(15), 30])
    expect(ticks(timeline, 0, 60)).toEqual(['10 v1', '20 v1', '30 v2', '45 v2', '60 v2'])
  })

  it('JB-20 graceful: the old schedule yields its next instant, and the new one from then on', () => {
    const graceful = new Timeline({ createdAt: start } as JobRecord, [
      { version: 1, spec: every(10), effectiveAt: start, createdAt: start, by: null },
      { version: 2, spec: every(20), effectiveAt: start + 10 * second + 1, createdAt: start, by: null },
    ])
    expect(ticks(graceful, 0, 60)).toEqual(['10 v1', '20 v2', '40 v2', '60 v2'])
  })

  it('JB-20 windowed: the old schedule holds for its window', () => {
    expect(ticks(timelineOf([every(10), 0], [every(30), 35]), 0, 90)).toEqual(['10 v1', '20 v1', '30 v1', '60 v2', '90 v2'])
  })

  it('JB-20 a change that is overtaken before it took effect yields nothing', () => {
    expect(ticks(timelineOf([every(10), 0], [every(1), 40], [every(30), 15]), 0, 60)).toEqual(['10 v1', '30 v3', '60 v3'])
  })

  it('JB-20 A → B → A yields every instant of A outside of B', () => {
    const timeline = timelineOf([every(10), 0], [every(7), 15], [every(10), 45])
    expect(ticks(timeline, 0, 60)).toEqual(['10 v1', '21 v2', '28 v2', '35 v2', '42 v2', '50 v3', '60 v3'])
  })

  it.each([
    ['disabled', { isEnabled: false }],
    ['retired', { isRetired: true }],
    ['without a schedule', { schedule: null }],
  ])('JB-20 yields nothing while the job is %s', (_, off) => {
    const timeline = timelineOf([every(10), 0], [every(10, off), 15], [every(10), 45])
    expect(ticks(timeline, 0, 60)).toEqual(['10 v1', '50 v3', '60 v3'])
    expect(timelineOf([every(10), 0], [every(10, off), 15]).next(start + 15 * second)).toBeNull()
    expect(ticks(timelineOf([every(10, off), 0], [every(10), 15]), 0, 30)).toEqual(['20 v2', '30 v2'])
  })

  it('ends with its schedule', () => {
    const once = newSpec({ schedule: { kind: 'once', at: new Date(start + 5 * second).toISOString() } })
    expect(ticks(timelineOf([once, 0]), 0, 1000)).toEqual(['5 v1'])
    expect(ticks(timelineOf([once, 0], [every(30), 40]), 0, 60)).toEqual(['5 v1', '60 v2'])
  })

  it('counts a bare interval from the creation of the job, in every version', () => {
    const interval = newSpec({ schedule: { kind: 'interval', text: 'PT7S' } })
    expect(ticks(timelineOf([interval, 0], [{ ...interval, payload: '2' }, 10]), 0, 21)).toEqual(['7 v1', '14 v2', '21 v2'])
  })

  it('refuses a kind of schedule that this process does not know', () => {
    expect(() => timelineOf([newSpec({ schedule: { kind: 'tides' } }), 0]).next(start)).toThrow(/tides/)
  })

  it('JB-20 yields exactly the instants of the versions in force, strictly increasing, wherever it is asked from', () => {
    const spec = fc.record({ seconds: fc.constantFrom(1, 2, 3, 5, 12), isEnabled: fc.boolean() })
    const later = fc.array(fc.tuple(spec, fc.integer({ min: 1, max: 100 })), { maxLength: 5 })
    fc.assert(
      fc.property(spec, later, fc.array(fc.nat(110), { maxLength: 5 }), (first, rest, asked) => {
        const versions = [[first, 0] as const, ...rest]
        const timeline = timelineOf(
          ...versions.map(([one, at]) => [every(one.seconds, { isEnabled: one.isEnabled }), at] as const),
        )
        // Asking elsewhere first must not change what it says.
        for (const at of asked) timeline.next(start + at * second)
        const expected: string[] = []
        for (let at = 1; at <= 120; at++) {
          const n = versions.findLastIndex(([, effective]) => effective <= at)
          const one = versions[n]?.[0]
          if (one?.isEnabled && (at % 60) % one.seconds === 0) expected.push(`${at} v${n + 1}`)
        }
        expect(ticks(timeline, 0, 120)).toEqual(expected)
      }),
    )
  })
})
