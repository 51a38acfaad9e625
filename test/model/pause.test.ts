import { describe, expect, it } from 'vitest'
import { isPausedAt, isSameScope, type PauseRecord, type PauseScope } from '../../src/model/pause.ts'

function pause(over: Partial<PauseRecord> = {}): PauseRecord {
  return { id: 1, tenant: 'acme', job: 'report', from: 100, to: 200, reason: null, by: null, ...over }
}

describe('a pause', () => {
  it('JB-7 is in force from its first instant on, and no longer at its end', () => {
    expect([99, 100, 199, 200].map((at) => isPausedAt(pause(), 'acme', 'report', at))).toEqual([false, true, true, false])
  })

  it('JB-7 with an open end is in force for ever', () => {
    expect(isPausedAt(pause({ to: null }), 'acme', 'report', Number.MAX_SAFE_INTEGER)).toBe(true)
  })

  it('that ended as it began covers nothing', () => {
    expect(isPausedAt(pause({ to: 100 }), 'acme', 'report', 100)).toBe(false)
  })

  it('JB-7 covers what its scope names', () => {
    const jobs = [
      ['acme', 'report'],
      ['acme', 'mail'],
      ['globex', 'report'],
      ['globex', 'mail'],
    ] as const
    const covered = (scope: PauseScope) => jobs.map(([tenant, job]) => isPausedAt(pause(scope), tenant, job, 150))
    expect(covered({ tenant: 'acme', job: 'report' })).toEqual([true, false, false, false])
    expect(covered({ tenant: 'acme', job: null })).toEqual([true, true, false, false])
    expect(covered({ tenant: null, job: 'report' })).toEqual([true, false, true, false])
    expect(covered({ tenant: null, job: null })).toEqual([true, true, true, true])
  })

  it('is told apart from those of other scopes', () => {
    expect(isSameScope(pause(), { tenant: 'acme', job: 'report' })).toBe(true)
    expect(isSameScope(pause(), { tenant: 'acme', job: null })).toBe(false)
    expect(isSameScope(pause({ tenant: null, job: null }), { tenant: null, job: null })).toBe(true)
  })
})
