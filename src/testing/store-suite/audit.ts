import assert from 'node:assert/strict'
import { type AuditAction, type AuditEntry, type AuditRecord, type AuditSeal, isSealWhole, rowDigest } from '../../model/audit.ts'
import type { AuditNote, Store } from '../../store/store.ts'
import { memberRef, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

function note(action: AuditAction, over: Partial<AuditNote> = {}): AuditNote {
  return { act: `act-${action}`, actor: 'ada', action, reason: 'because', ...over }
}

async function auditOf(store: Store): Promise<readonly AuditRecord[]> {
  return store.listAudit({ of: 'rows', order: 'oldest', limit: 500 })
}

async function rows(scene: Scene): Promise<readonly unknown[]> {
  return (await auditOf(scene.store)).map(({ actor, action, target, before, after, reason }) => {
    const json = (text: string | null) => (text === null ? null : JSON.parse(text))
    return [actor, action, target, json(before), json(after), reason]
  })
}

async function seals(scene: Scene): Promise<readonly AuditSeal[]> {
  return scene.store.listAudit({ of: 'seals', beyond: 0, limit: 100 })
}

const prune = (scene: Scene, auditBefore: number | null = null) =>
  scene.store.prune({ endedBefore: 0, keyRetentionMs: minute, limit: 10, auditBefore })

function event(over: Partial<AuditEntry> = {}): AuditEntry {
  return {
    ...{ act: 'attempt-1/0', target: 'order-1', actor: 'SYSTEM', action: 'event', tenant: 'default', job: 'mail' },
    ...{ before: null, after: null, reason: null, event: 'invoice.sent', refs: '{"invoice":"7"}', data: '{"total":5}' },
    ...over,
  }
}

export const auditCases = topic('audit', {
  'BL-7 a put of a job is recorded with what it changed, and one that changes nothing is not': async (scene) => {
    const spec = scene.spec()
    await scene.store.putJob(scene.jobPut(spec, { audit: note('update', { act: '1' }) }))
    await scene.store.putJob(scene.jobPut(spec, { audit: note('update', { act: '2' }) }))
    const off = { ...spec, isEnabled: false }
    await scene.store.putJob(
      scene.jobPut(off, { declared: spec, override: { isEnabled: false }, audit: note('update', { act: '3' }) }),
    )
    const refused = { expectedVersion: 9, audit: note('update', { act: '4' }) }
    await scene.store.putJob(scene.jobPut({ ...spec, payload: '1' }, refused))
    const first = { version: 1, enabled: true, retired: false, overridden: [] }
    assert.deepEqual(await rows(scene), [
      ['ada', 'update', 'report', null, first, 'because'],
      ['ada', 'update', 'report', first, { version: 2, enabled: false, retired: false, overridden: ['isEnabled'] }, 'because'],
    ])
  },
  'a pause and its end are recorded, a repeated one is not': async (scene) => {
    const { now } = scene
    const open = { until: null, reason: 'freeze', by: 'ada' }
    for (const act of ['1', '2']) await scene.pause({ open, audit: note('pause', { act }) })
    for (const act of ['3', '4']) await scene.pause({ open: null, audit: note('resume', { act }) })
    const pause = { from: now, until: null, reason: 'freeze', by: 'ada' }
    assert.deepEqual(await rows(scene), [
      ['ada', 'pause', 'report', null, pause, 'because'],
      ['ada', 'resume', 'report', pause, { ...pause, until: now }, 'because'],
    ])
  },
  'a creation is recorded for each row that is new': async (scene) => {
    const known = scene.row({ key: 'k' })
    await scene.createAll([known])
    const fresh = scene.row({ source: 'manual' })
    await scene.store.create([known, fresh], { audit: note('trigger') })
    assert.deepEqual(await rows(scene), [['ada', 'trigger', fresh.id, null, { outcome: 'created', source: 'manual' }, 'because']])
  },
  'a cancel is recorded for each occurrence that it changes': async (scene) => {
    await scene.join()
    const ids = [
      await scene.create({ entity: 'e', due: { in: minute } }),
      await scene.create({ entity: 'e', due: { in: minute } }),
    ]
    const which = { tenant: 'default', job: 'mail', entity: 'e' }
    await scene.store.cancel({ which, reason: null, audit: note('cancel', { act: '1' }) })
    await scene.store.cancel({ which: { id: ids[0] as string }, reason: null, audit: note('cancel', { act: '2' }) })
    const running = await scene.running()
    for (const act of ['3', '4'])
      await scene.store.cancel({ which: { id: running.id }, reason: null, audit: note('cancel', { act }) })
    const dueAt = scene.now + minute
    assert.deepEqual(await rows(scene), [
      ...ids.map((id) => ['ada', 'cancel', id, { state: 'pending', dueAt }, { state: 'canceled', dueAt: 0 }, 'because']),
      ['ada', 'cancel', running.id, { state: 'running' }, { state: 'canceling' }, 'because'],
    ])
  },
  'a reschedule, a retry and a discard are recorded with the states': async (scene) => {
    const later = await scene.create({ due: { in: minute } })
    const dueAt = scene.now + 2 * minute
    await scene.store.move({ which: { id: later }, to: { due: dueAt }, audit: note('reschedule') })
    await scene.store.move({ which: { id: later }, to: { discard: null }, audit: note('discard', { act: 'refused' }) })
    const dead = await scene.dead()
    await scene.store.move({ which: { id: dead }, to: { retry: dueAt }, audit: note('retry') })
    const gone = await scene.dead()
    await scene.store.move({ which: { id: gone }, to: { discard: 'old' }, audit: note('discard') })
    assert.deepEqual(await rows(scene), [
      ['ada', 'reschedule', later, { state: 'pending', dueAt: scene.now + minute }, { state: 'pending', dueAt }, 'because'],
      ['ada', 'retry', dead, { state: 'dead', dueAt: 0 }, { state: 'retrying', dueAt }, 'because'],
      ['ada', 'discard', gone, { state: 'dead' }, { state: 'canceled' }, 'because'],
    ])
  },
  'the resolution of an effect is recorded': async (scene) => {
    const key = { tenant: 'default', scope: 'charge', key: 'order-1' }
    const none = { fingerprint: null, occurrence: null, member: null, keepMs: null, takesUnknown: false }
    await scene.store.gate({ act: 'reserve', ...key, ...none, holder: 'h', holdMs: 0 })
    for (const act of ['1', '2'])
      await scene.store.gate({ act: 'resolve', ...key, to: { result: null, keepMs: null }, audit: note('resolve', { act }) })
    assert.deepEqual(await rows(scene), [
      ['ada', 'resolve', 'charge/order-1', { state: 'unknown' }, { happened: true }, 'because'],
    ])
  },
  'BL-7 business events are recorded once with the checkpoint of their attempt, and not by a turn that is lost': async (
    scene,
  ) => {
    const holding = await scene.running()
    const item = { ...memberRef(holding), attempts: [scene.attempt()], events: [event(), event({ act: 'attempt-1/1' })] }
    await scene.store.checkpoint([item])
    await scene.store.checkpoint([item])
    await scene.settle(holding, 'parked')
    await scene.store.checkpoint([{ ...item, events: [event({ act: 'attempt-2/0' })] }])
    const found = await auditOf(scene.store)
    assert.deepEqual(
      found.map(({ seq: _, at, ...entry }) => [at, entry]),
      [event(), event({ act: 'attempt-1/1' })].map((entry) => [scene.now, entry]),
    )
  },
  'an act that is repeated is recorded once': async (scene) => {
    const id = await scene.create({ due: { in: minute } })
    const request = { which: { id }, to: { due: { in: 2 * minute } }, audit: note('reschedule') }
    await scene.store.move(request)
    await scene.clock.advance(1)
    await scene.store.move(request)
    assert.equal((await auditOf(scene.store)).length, 1)
  },
  'rows are found by tenant, job, target, actor, action, event and time, in pages of either order': async (scene) => {
    const holding = await scene.running()
    const events = [
      event({ act: '1', tenant: 'acme', job: 'pay', actor: 'bob' }),
      event({ act: '2', event: 'invoice.paid' }),
      event({ act: '3', target: 'order-2' }),
    ]
    for (const one of events) {
      await scene.store.checkpoint([{ ...memberRef(holding), attempts: [], events: [one] }])
      await scene.clock.advance(10)
    }
    const from = scene.now - 20
    const acts = async (query: object) =>
      (await scene.store.listAudit({ of: 'rows', order: 'oldest', limit: 10, ...query })).map(({ act }) => act)
    assert.deepEqual(await acts({}), ['1', '2', '3'])
    assert.deepEqual(await acts({ order: 'newest' }), ['3', '2', '1'])
    assert.deepEqual(await acts({ tenant: 'acme' }), ['1'])
    assert.deepEqual(await acts({ job: 'mail' }), ['2', '3'])
    assert.deepEqual(await acts({ target: 'order-2' }), ['3'])
    assert.deepEqual(await acts({ actor: 'bob' }), ['1'])
    assert.deepEqual(await acts({ action: 'cancel' }), [])
    assert.deepEqual(await acts({ event: 'invoice.paid' }), ['2'])
    assert.deepEqual(await acts({ from }), ['2', '3'])
    assert.deepEqual(await acts({ to: from }), ['1'])
    const [newest] = await scene.store.listAudit({ of: 'rows', order: 'newest', limit: 1 })
    const beyond = (newest as AuditRecord).seq
    assert.deepEqual(await acts({ order: 'newest', beyond }), ['2', '1'])
  },
  'each row has its digest at once, and is sealed in numbered segments, each with the hash of the one before': async (scene) => {
    const holding = await scene.running()
    const write = (act: string) => scene.store.checkpoint([{ ...memberRef(holding), attempts: [], events: [event({ act })] }])
    await write('1')
    await write('2')
    const unsealed = (beyond = 0, limit = 10) => scene.store.listAudit({ of: 'unsealed', beyond, limit })
    const digests = (await auditOf(scene.store)).map((row) => [row.seq, rowDigest(row)])
    assert.deepEqual(await unsealed(), digests)
    assert.deepEqual(await unsealed(0, 1), digests.slice(0, 1))
    assert.deepEqual(await unsealed(digests[0]?.[0] as number), digests.slice(1))
    await prune(scene)
    await prune(scene)
    assert.deepEqual(await unsealed(), [])
    await write('3')
    await prune(scene)
    const found = await auditOf(scene.store)
    const [first, second, ...rest] = await seals(scene)
    assert.deepEqual([first?.segment, first?.count, second?.segment, second?.count, rest.length], [1, 2, 2, 1, 0])
    assert.deepEqual(
      first?.rows,
      found.slice(0, 2).map((row) => [row.seq, rowDigest(row)]),
    )
    assert.equal(second?.previous, first?.hash)
    assert.ok((await seals(scene)).every(isSealWhole))
  },
  'retention drops whole segments and keeps their seals': async (scene) => {
    const holding = await scene.running()
    const write = (act: string) => scene.store.checkpoint([{ ...memberRef(holding), attempts: [], events: [event({ act })] }])
    await write('1')
    await prune(scene)
    await scene.clock.advance(minute)
    const cut = scene.now
    await write('2')
    await prune(scene, cut)
    assert.deepEqual(
      (await auditOf(scene.store)).map(({ act }) => act),
      ['2'],
    )
    const [first, second] = await seals(scene)
    assert.deepEqual([first?.droppedAt, first?.rows, first?.count, second?.droppedAt], [scene.now, [], 1, null])
    assert.ok((await seals(scene)).every(isSealWhole))
  },
})
