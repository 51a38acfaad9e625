import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPlannable, specText, type VersionRecord, versionAt, withOverride } from '../../src/model/job.ts'
import { newSpec } from '../support/new-spec.ts'

function version(n: number, effectiveAt: number): VersionRecord {
  return { version: n, spec: newSpec(), effectiveAt, createdAt: 0, by: null }
}

describe('the version in force', () => {
  it('JB-20 is the newest of those that have taken effect, from that very instant on', () => {
    const versions = [version(1, 100), version(2, 200), version(3, 300)]
    expect([100, 199, 200, 299, 300, 1e9].map((at) => versionAt(versions, at).version)).toEqual([1, 1, 2, 2, 3, 3])
  })

  it('JB-20 before all others is the first', () => {
    expect(versionAt([version(1, 100), version(2, 200)], 0).version).toBe(1)
  })

  it('JB-20 is never one that a newer one has overtaken before it took effect', () => {
    const versions = [version(1, 100), version(2, 500), version(3, 200)]
    expect([150, 200, 499, 500, 600].map((at) => versionAt(versions, at).version)).toEqual([1, 3, 3, 3, 3])
  })

  it('JB-20 only ever becomes newer as time goes on', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(100), { minLength: 1, maxLength: 8 }), (instants) => {
        const versions = instants.map((at, i) => version(i + 1, i === 0 ? Math.min(...instants) : at))
        const inForce = Array.from({ length: 101 }, (_, at) => versionAt(versions, at).version)
        for (const [at, one] of inForce.entries()) expect(one).toBeGreaterThanOrEqual(inForce[at - 1] ?? 0)
      }),
    )
  })
})

describe('a spec', () => {
  it('TM-8 is what code declares with what a person has changed, field by field', () => {
    const declared = newSpec({ payload: '1', settings: { priority: 3, timeoutMs: 5 } })
    expect(withOverride(declared, null)).toBe(declared)
    expect(withOverride(declared, { settings: { priority: 1 }, isEnabled: false })).toEqual({
      ...declared,
      isEnabled: false,
      settings: { priority: 1, timeoutMs: 5 },
    })
    expect(withOverride(declared, { schedule: null, payload: null })).toEqual({ ...declared, schedule: null, payload: null })
  })

  it('yields instants while it has a schedule, is enabled and not retired', () => {
    const specs = [newSpec(), newSpec({ schedule: null }), newSpec({ isEnabled: false }), newSpec({ isRetired: true })]
    expect(specs.map(isPlannable)).toEqual([true, false, false, false])
  })

  it('F35 has one text, whatever the order of its fields', () => {
    const { definition, schedule, ...rest } = newSpec({ settings: { priority: 1, timeoutMs: 2 } })
    const turned = { ...rest, settings: { timeoutMs: 2, priority: 1 }, schedule, definition }
    expect(specText(turned)).toBe(specText({ definition, schedule, ...rest }))
    expect(specText(newSpec({ payload: '1' }))).not.toBe(specText(newSpec({ payload: '2' })))
    const tasks = [{ name: 'a' }, { name: 'b' }]
    expect(specText(newSpec({ tasks })), 'the order of tasks matters').not.toBe(specText(newSpec({ tasks: tasks.toReversed() })))
  })
})
