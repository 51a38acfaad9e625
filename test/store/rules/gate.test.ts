import { describe, expect, it } from 'vitest'
import { GatePage, gateRecord, gateRule, type KnownGate, performed } from '../../../src/store/rules/gate.ts'
import type { GateRecord, GateReserve, GateWrite } from '../../../src/store/store.ts'

const key = { tenant: 'acme', scope: 'charge', key: 'order-42' }
const record: GateRecord = {
  ...key,
  state: 'reserved',
  fingerprint: 'f',
  occurrence: null,
  tries: 1,
  hits: 0,
  reservedAt: 100,
  endedAt: null,
  expiresAt: null,
  result: null,
  reason: null,
}
const known = (over: Partial<GateRecord> = {}, more: Partial<KnownGate> = {}): KnownGate => ({
  record: { ...record, ...over },
  holder: 'a',
  heldUntil: 1000,
  isTurnOpen: true,
  ...more,
})
const done = known({ state: 'done', result: '1', endedAt: 150, expiresAt: 900 })
const unknown = known({ state: 'unknown', reason: 'timeout' })
const gone = known({}, { isTurnOpen: false })
const late = known({}, { heldUntil: 500 })
const reserve = (over: Partial<GateReserve> = {}): GateReserve => ({
  act: 'reserve',
  ...key,
  holder: 'b',
  fingerprint: 'f',
  occurrence: null,
  member: null,
  holdMs: 60,
  takesUnknown: false,
  keepMs: 40,
  ...over,
})
const mine = { ...key, holder: 'a' }
const others = { ...key, holder: 'b' }

describe('BL-6 the rule of a gate, at 500', () => {
  it.each<[string, KnownGate | null, GateWrite, string, string]>([
    ['a free key is reserved', null, reserve(), 'reserved', 'reserved'],
    ['a held key is busy', known(), reserve(), 'busy', 'none'],
    ['the holder repeats its reservation', known(), reserve({ holder: 'a' }), 'reserved', 'none'],
    ['a holder that took an unknown outcome over repeats that', known({ tries: 2 }), reserve({ holder: 'a' }), 'taken', 'none'],
    ['a recorded outcome is returned and counted', done, reserve(), 'done', 'done'],
    ['a forgotten outcome leaves the key free', known({ state: 'done', expiresAt: 500 }), reserve(), 'reserved', 'reserved'],
    ['another fingerprint is a mismatch', done, reserve({ fingerprint: 'g' }), 'mismatch', 'none'],
    ['no fingerprint matches each', done, reserve({ fingerprint: null }), 'done', 'done'],
    ['the turn of the holder is over', gone, reserve(), 'unknown', 'unknown'],
    ['the time of the holder is over', late, reserve(), 'unknown', 'unknown'],
    ['an unknown outcome is taken over', unknown, reserve({ takesUnknown: true }), 'taken', 'reserved'],
    ['an unknown outcome is held', unknown, reserve(), 'unknown', 'unknown'],
    ['the holder records', known(), { act: 'record', ...mine, result: '1', keepMs: 9 }, 'recorded', 'done'],
    ['the holder records late', gone, { act: 'record', ...mine, result: '1', keepMs: 9 }, 'recorded', 'done'],
    [
      'the holder records what it reported as unknown',
      unknown,
      { act: 'record', ...mine, result: '1', keepMs: 9 },
      'recorded',
      'done',
    ],
    ['the holder records again', done, { act: 'record', ...mine, result: '1', keepMs: 9 }, 'recorded', 'none'],
    ['another records nothing', known(), { act: 'record', ...others, result: '1', keepMs: 9 }, 'lost', 'none'],
    ['nothing is recorded without a reservation', null, { act: 'record', ...mine, result: '1', keepMs: 9 }, 'lost', 'none'],
    ['the holder releases', known(), { act: 'release', ...mine }, 'released', 'deleted'],
    ['the holder releases again', null, { act: 'release', ...mine }, 'released', 'none'],
    ['another releases nothing', known(), { act: 'release', ...others }, 'lost', 'none'],
    ['a recorded outcome is not released', done, { act: 'release', ...mine }, 'lost', 'none'],
    ['the holder doubts', known(), { act: 'doubt', ...mine, reason: 'x' }, 'unknown', 'unknown'],
    ['a recorded outcome is not doubted', done, { act: 'doubt', ...mine, reason: 'x' }, 'lost', 'none'],
    ['a person resolves as happened', unknown, { act: 'resolve', ...key, to: { result: '2', keepMs: null } }, 'resolved', 'done'],
    ['a person resolves as not happened', gone, { act: 'resolve', ...key, to: null }, 'resolved', 'deleted'],
    ['what is under way is not resolved', known(), { act: 'resolve', ...key, to: null }, 'busy', 'none'],
    ['what is known is not resolved', done, { act: 'resolve', ...key, to: null }, 'done', 'none'],
    ['what does not exist is not resolved', null, { act: 'resolve', ...key, to: null }, 'none', 'none'],
  ])('%s', (_, stored, request, outcome, written) => {
    const { answer, write } = gateRule(stored, request, 500)
    expect(answer.outcome).toBe(outcome)
    expect(write === null ? 'none' : write === 'delete' ? 'deleted' : write.record.state).toBe(written)
  })

  it('leaves a resolved key without a holder', () => {
    const { write } = gateRule(unknown, { act: 'resolve', ...key, to: { result: null, keepMs: null } }, 500)
    expect(write).toMatchObject({ holder: '' })
  })

  it('ends a performed reservation in the same row', () => {
    const { answer } = performed(record, reserve(), '1', 500)
    expect(answer).toMatchObject({ outcome: 'performed', gate: { state: 'done', result: '1', expiresAt: 540 } })
  })

  it('shows a reservation without a holder as unknown', () => {
    expect([known(), gone, late, done].map((one) => gateRecord(one, 500).state)).toEqual([
      'reserved',
      'unknown',
      'unknown',
      'done',
    ])
  })

  it('fills pages with keys of a state, however many others come between', () => {
    const list = { act: 'list', state: 'done', limit: 2 } as const
    const rows = (...states: GateRecord['state'][]) => states.map((state, i) => known({ state, key: `${state} ${i}` }))
    const gates = new GatePage(list)
    expect(gates.add(rows('reserved', 'done', 'reserved'), 0)).toBe(null)
    expect(gates.after).toMatchObject({ key: 'reserved 2' })
    const page = gates.add(rows('done', 'reserved', 'done'), 0)
    expect(page?.items.map((item) => item.key)).toEqual(['done 1', 'done 0'])
    expect(new GatePage({ ...list, cursor: page?.cursor ?? '' }).after).toEqual({ ...key, key: 'done 0' })
    expect(new GatePage(list).add(rows('done'), 0)).toMatchObject({ items: [{ key: 'done 0' }], cursor: null })
  })

  it.each(['', 'x', 'JhY21lIl0', Buffer.from('["a"]').toString('base64url')])('refuses the cursor %j', (cursor) => {
    const list = () => new GatePage({ act: 'list', limit: 1, cursor })
    expect(list).toThrow(expect.objectContaining({ code: 'option.invalid' }))
  })
})
