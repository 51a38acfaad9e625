import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attemptId, jobId, keyedId, scheduledId, slotOf, taskId, taskRunId, uuidV7 } from '../../src/model/ids.ts'

const uuid = (version: number) => new RegExp(`^[0-9a-f]{8}-[0-9a-f]{4}-${version}[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
const text = fc.string({ unit: 'binary', maxLength: 30 })
const tuple = fc.oneof(
  fc.tuple(fc.constant('job' as const), text, text),
  fc.tuple(fc.constant('task' as const), text, text, text),
  fc.tuple(fc.constant('at' as const), text, text, fc.integer()),
  fc.tuple(fc.constant('key' as const), text, text, text),
  fc.tuple(fc.constant('run' as const), text, text),
  fc.tuple(fc.constant('attempt' as const), text, fc.nat()),
)

function idOf(parts: readonly [string, ...(string | number)[]]): string {
  const [kind, a, b, c] = parts as readonly [string, string, string, string]
  switch (kind) {
    case 'job':
      return jobId(a, b)
    case 'task':
      return taskId(a, b, c)
    case 'at':
      return scheduledId(a, b, Number(c))
    case 'key':
      return keyedId(a, b, c)
    case 'run':
      return taskRunId(a, b)
    default:
      return attemptId(a, Number(b))
  }
}

describe('JB-2 deterministic ids', () => {
  // Computed by another implementation of UUIDv5. Changing one orphans every stored record.
  it('are these, on every node, every store and in every release', () => {
    expect(jobId('default', 'invoice')).toBe('20d6d484-d62b-5583-b827-326072b5fbd7')
    expect(taskId('default', 'invoice', 'send')).toBe('ce67e5f4-a186-5739-8d2d-00556e7649fd')
    expect(scheduledId('default', 'invoice', Date.UTC(2026, 0, 1))).toBe('b4fbc5ca-5803-5da0-b47e-56fe738ff9e4')
    expect(keyedId('default', 'invoice', 'globex-2026-11')).toBe('f1f20581-db09-5e0d-80d8-3c4d3a42b15f')
    expect(taskRunId('f1f20581-db09-5e0d-80d8-3c4d3a42b15f', 'send')).toBe('5617443a-6346-5f0e-95f4-41177d735eeb')
    expect(attemptId('5617443a-6346-5f0e-95f4-41177d735eeb', 1)).toBe('4a4178ba-fbc1-5276-8139-927d2a2fecc5')
    expect(keyedId('ä', 'a","b', '🎉')).toBe('2d36249a-e7ab-5185-b8b3-bd20fc0ec276')
  })

  it('are valid UUIDs of version 5', () => {
    fc.assert(fc.property(tuple, (parts) => uuid(5).test(idOf(parts))))
  })

  it('differ for different tuples, whatever their texts hold', () => {
    fc.assert(
      fc.property(tuple, tuple, (one, other) => {
        expect(idOf(one) === idOf(other)).toBe(JSON.stringify(one) === JSON.stringify(other))
      }),
    )
  })

  it('do not let a key pass for an instant, or a separator move', () => {
    const at = 1_767_225_600_000
    const ids = [
      scheduledId('t', 'j', at),
      keyedId('t', 'j', String(at)),
      keyedId('t', 'j,k', 'l'),
      keyedId('t', 'j', 'k,l'),
      keyedId('t","j', 'k', 'l'),
      keyedId('t', 'j","k', 'l'),
    ]
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('ids of what has no key', () => {
  const bytes = (fill: number) => (length: number) => new Uint8Array(length).fill(fill)

  it('are valid UUIDs of version 7 that carry their instant', () => {
    expect(uuidV7(0x0123456789ab, bytes(0xff))).toBe('01234567-89ab-7fff-bfff-ffffffffffff')
    expect(uuidV7(Date.UTC(2026, 0, 1), bytes(0))).toMatch(uuid(7))
  })

  it('sort by time', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 47), fc.nat(2 ** 47), (one, other) => {
        expect(uuidV7(one, bytes(9)) < uuidV7(other, bytes(9))).toBe(one < other)
      }),
    )
  })
})

describe('the slot of a tenant', () => {
  it('is one of 4096 and always the same', () => {
    expect([slotOf('default'), slotOf('acme'), slotOf('')]).toEqual([slotOf('default'), slotOf('acme'), slotOf('')])
    fc.assert(fc.property(text, (tenant) => slotOf(tenant) >= 0 && slotOf(tenant) < 4096 && Number.isInteger(slotOf(tenant))))
  })

  it('spreads tenants evenly', () => {
    const used = new Set(Array.from({ length: 4096 }, (_, i) => slotOf(`tenant-${i}`)))
    expect(used.size).toBeGreaterThan(2300)
  })
})
