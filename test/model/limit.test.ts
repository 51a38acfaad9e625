import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Source, sources } from '../../src/model/lifecycle.ts'
import { declaredLimits, limitsFor } from '../../src/model/limit.ts'
import { type OverlapPolicy, overlapPolicies } from '../../src/model/overlap.ts'
import { cascade, type SettingsDiff } from '../../src/model/settings.ts'
import { newSpec } from '../support/new-spec.ts'

const of = (source: Source, settings: SettingsDiff = {}, tenant = 'default', job = 'report') =>
  limitsFor({ tenant, job, source, settings: cascade(settings) })

describe('the keys an occurrence needs', () => {
  it('JB-8 are the policy of the job for scheduled instants, skip by default', () => {
    expect(of('schedule')).toEqual([{ kind: 'overlap', key: '["overlap","default","report"]', limit: 1, policy: 'skip' }])
    for (const overlap of overlapPolicies.filter((policy) => policy !== 'allow'))
      expect(of('schedule', { overlap })?.[0]).toMatchObject({ kind: 'overlap', policy: overlap })
    expect(of('schedule', { overlap: 'allow' })).toBeNull()
  })

  it('JB-8 are none for enqueued and keyed work and for backfills, whatever the policy', () => {
    for (const source of ['deferred', 'timer', 'backfill'] as const)
      for (const overlap of overlapPolicies) expect(of(source, { overlap }), `${source} ${overlap}`).toBeNull()
  })

  it('JB-8 JB-16 let a trigger and a replay queue behind a running one', () => {
    for (const source of ['manual', 'replay'] as const) {
      for (const overlap of overlapPolicies.filter((policy) => policy !== 'allow'))
        expect(of(source, { overlap })?.[0], `${source} ${overlap}`).toMatchObject({ kind: 'overlap', policy: 'queue' })
      expect(of(source, { overlap: 'allow' })).toBeNull()
    }
  })

  it('JB-15 let catch-up runs of one job go one after another under every policy, within the cap of the cluster', () => {
    for (const overlap of overlapPolicies) {
      const limits = of('recovery', { overlap, catchUp: 7 }) ?? []
      const catchUp = [
        { kind: 'catch-up', key: '["catch-up","default","report"]', limit: 1 },
        { kind: 'catch-up-total', key: '["catch-up"]', limit: 7 },
      ]
      const own = { kind: 'overlap', key: '["overlap","default","report"]', limit: 1, policy: 'queue' }
      expect(limits, overlap).toEqual(overlap === 'allow' ? catchUp : [...catchUp, own])
    }
  })

  it('JB-8 name concurrency and rate by tenant and key, in the order overlap, concurrency, rate', () => {
    const concurrency = { key: 'api', limit: 3 }
    const rate = { key: 'api', limit: 5, perMs: 1000 }
    expect(of('schedule', { concurrency, rate }, 'acme')).toEqual([
      { kind: 'overlap', key: '["overlap","acme","report"]', limit: 1, policy: 'skip' },
      { kind: 'concurrency', key: '["concurrency","acme","api"]', limit: 3 },
      { kind: 'rate', key: '["rate","acme","api","1000"]', limit: 5, perMs: 1000 },
    ])
    expect(of('deferred', { concurrency })).toEqual([{ kind: 'concurrency', key: '["concurrency","default","api"]', limit: 3 }])
  })

  it('TS-10 never meet those of another tenant or of another kind, whatever the names', () => {
    const name = fc.constantFrom('a', 'b', 'a","b', 'overlap', '["a"]', 'a,b')
    const settings: SettingsDiff = { concurrency: { key: 'k', limit: 1 }, rate: { key: 'k', limit: 1, perMs: 1 } }
    fc.assert(
      fc.property(name, name, name, name, (tenant, job, otherTenant, otherJob) => {
        const keys = new Set((of('schedule', settings, tenant, job) ?? []).map(({ key }) => key))
        const shared = (of('schedule', settings, otherTenant, otherJob) ?? []).filter(({ key }) => keys.has(key))
        const expected =
          tenant !== otherTenant ? [] : job === otherJob ? ['overlap', 'concurrency', 'rate'] : ['concurrency', 'rate']
        expect(shared.map(({ kind }) => kind)).toEqual(expected)
      }),
    )
  })

  it('name no key twice, for any source and policy', () => {
    const overlap = fc.constantFrom<OverlapPolicy>(...overlapPolicies)
    fc.assert(
      fc.property(fc.constantFrom(...sources), overlap, (source, policy) => {
        const keys = (of(source, { overlap: policy, concurrency: { key: 'k', limit: 1 } }) ?? []).map(({ key }) => key)
        expect(new Set(keys).size).toBe(keys.length)
      }),
    )
  })
})

describe('the limits a job declares', () => {
  it('cascade from the definition over the job to the occurrence', () => {
    const spec = newSpec({
      defaults: { concurrency: { key: 'a', limit: 1 }, startWithinMs: 5 },
      settings: { concurrency: { key: 'b', limit: 2 } },
    })
    const work = { tenant: 'default', job: 'report', source: 'deferred', settings: null } as const
    expect(declaredLimits(spec, work)).toEqual({
      limits: [{ kind: 'concurrency', key: '["concurrency","default","b"]', limit: 2 }],
      startWithinMs: 5,
    })
    expect(declaredLimits(spec, { ...work, settings: { concurrency: null, startWithinMs: 9 } })).toEqual({
      limits: null,
      startWithinMs: 9,
    })
    expect(declaredLimits(undefined, work)).toEqual({ limits: null, startWithinMs: null })
  })
})
