// Every verb is safe to repeat after an unknown outcome: said twice with the same arguments, it has acted once.
// Of the moves, `due` (to an instant), `retry` and `discard` are such; a move by a delay counts from the repeated call.
import assert from 'node:assert/strict'
import type { Limit } from '../../model/limit.ts'
import type { RescueRequest } from '../../store/store.ts'
import { lastingDump } from './dump.ts'
import { reservation } from './gate.ts'
import { memberOf, memberRef, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

const rescueOf = (gone: RescueRequest['gone']): RescueRequest => ({
  gone,
  settings: { retry: { intervalMs: 1000 } },
  mostRecoveries: 1,
  limit: 10,
  kinds: [],
  hookMs: minute,
})

type Prepare = (scene: Scene) => Promise<() => Promise<unknown>>

const verbs: Readonly<Record<string, Prepare>> = {
  putJob: async (scene) => {
    const put = scene.jobPut(scene.spec(), { expectedVersion: 0 })
    return () => scene.store.putJob(put)
  },
  'putJob of another version': async (scene) => {
    await scene.putJob()
    await scene.plan([scene.now + minute])
    const put = scene.jobPut(scene.spec({ payload: '2' }), { expectedVersion: 1 })
    return () => scene.store.putJob(put)
  },
  plan: async (scene) => {
    const plan = scene.planOf(await scene.putJob(), [scene.now + 1, scene.now + 2])
    return () => scene.store.plan([plan])
  },
  'plan that revives': async (scene) => {
    await scene.putJob()
    const at = scene.now + 1
    await scene.plan([at])
    await scene.clock.advance(minute)
    await scene.join()
    const plan = scene.planOf(await scene.job(), [], { revive: [{ at, limits: null, span: null }] })
    return () => scene.store.plan([plan])
  },
  'putJob that takes effect later': async (scene) => {
    await scene.putJob()
    await scene.plan([scene.now + 1, scene.now + minute])
    const effectiveAt = scene.now + 1000
    const put = scene.jobPut(scene.spec({ payload: '2' }), { effectiveAt, expectedVersion: 1 })
    return () => scene.store.putJob(put)
  },
  'putJob that only notes who declared what': async (scene) => {
    const { spec } = await scene.putJob()
    const put = scene.jobPut(spec, { declared: null, override: { payload: null } })
    return () => scene.store.putJob(put)
  },
  'pause to an open end': async (scene) => () =>
    scene.store.pause({ tenant: 'default', job: null, open: { until: null, reason: 'freeze', by: 'ada' } }),
  'pause until an instant': async (scene) => {
    const open = { until: scene.now + minute, reason: null, by: null }
    return () => scene.store.pause({ tenant: null, job: null, open })
  },
  'pause that resumes': async (scene) => {
    await scene.join()
    await scene.pause({ job: 'mail' })
    await scene.create()
    await scene.claim()
    return () => scene.store.pause({ tenant: 'default', job: 'mail', open: null })
  },
  'plan that passes over': async (scene) => {
    const job = await scene.putJob()
    const rows = [scene.planRow(job, scene.now, { end: { state: 'missed', reason: 'downtime' } })]
    const range = { from: scene.now + 1, to: scene.now + 9, count: 9, state: 'missed', reason: 'downtime' } as const
    const plan = scene.planOf(job, [], { rows, ranges: [range], through: scene.now + 9 })
    return () => scene.store.plan([plan])
  },
  'plan that drops': async (scene) => {
    await scene.putJob()
    const at = scene.now + 1
    await scene.plan([at])
    await scene.clock.advance(minute)
    await scene.join()
    const drop = [{ at, state: 'missed', reason: 'downtime' }] as const
    const plan = scene.planOf(await scene.job(), [], { drop, through: scene.now })
    return () => scene.store.plan([plan])
  },
  create: async (scene) => {
    const rows = [scene.row(), scene.row({ key: 'k' }), scene.row({ key: 'l', unique: 'live' })]
    return () => scene.createAll(rows)
  },
  'create that reschedules': async (scene) => {
    await scene.create({ key: 'k' })
    const rows = [scene.row({ key: 'k', due: scene.now + 5, onConflict: 'reschedule' })]
    return () => scene.createAll(rows)
  },
  'create that replaces': async (scene) => {
    await scene.create({ key: 'k' })
    const rows = [scene.row({ key: 'k', payload: '2', due: scene.now + 5, onConflict: 'replace' })]
    return () => scene.createAll(rows)
  },
  claim: async (scene) => {
    await scene.join()
    for (let i = 0; i < 3; i++) await scene.create()
    const request = scene.claimRequest({ limit: 2 })
    return () => scene.store.claim(request)
  },
  'claim that grants, limits back and passes over': async (scene) => {
    await scene.join()
    const limits: readonly Limit[] = [
      { kind: 'overlap', key: 'o', limit: 1, policy: 'skip' },
      { kind: 'rate', key: 'r', limit: 2, perMs: minute },
    ]
    for (let i = 0; i < 2; i++) await scene.create({ limits: limits, due: scene.now - 2 + i })
    for (let i = 0; i < 3; i++) await scene.create({ limits: limits.slice(1) })
    const request = scene.claimRequest()
    return () => scene.store.claim(request)
  },
  checkpoint: async (scene) => {
    const holding = await scene.running()
    const progress = { task: 'run', done: 0.5, message: null, at: scene.now }
    const start = { startedAt: scene.now, deadlineAt: scene.now + minute }
    const items = [{ ...memberRef(holding), attempts: [scene.attempt(), scene.attempt({ n: 2 })], progress, start }]
    return () => scene.store.checkpoint(items)
  },
  'settle that completes': async (scene) => {
    const holding = await scene.running()
    const items = [{ ...scene.settleItem(holding, 'completed'), attempts: [scene.attempt()] }]
    return () => scene.settleAll(items, [holding.claim])
  },
  'settle that frees a key': async (scene) => {
    const limits = [{ kind: 'concurrency', key: 'c', limit: 1 }] as const
    const holding = await scene.running({ limits })
    for (let i = 0; i < 3; i++) await scene.create({ limits })
    await scene.claim()
    const items = [scene.settleItem(holding, 'completed')]
    return () => scene.settleAll(items, [holding.claim])
  },
  'settle that parks': async (scene) => {
    const holding = await scene.running()
    const items = [{ ...scene.settleItem(holding, 'parked'), attempts: [scene.attempt()], delayMs: 1000 }]
    return () => scene.settleAll(items, [holding.claim])
  },
  'settle that releases': async (scene) => {
    const holding = await scene.running()
    const items = [scene.settleItem(holding, 'released')]
    return () => scene.settleAll(items, [holding.claim])
  },
  'settle that buries': async (scene) => {
    const holding = await scene.running()
    const items = [scene.settleItem(holding, 'dead')]
    return () => scene.settleAll(items, [holding.claim])
  },
  'cancel of what is pending': async (scene) => {
    const id = await scene.create()
    return () => scene.store.cancel({ which: { id }, reason: 'paid' })
  },
  'cancel of what runs': async (scene) => {
    const { id } = await scene.running()
    return () => scene.store.cancel({ which: { id }, reason: 'paid' })
  },
  'cancel of an entity': async (scene) => {
    await scene.create({ entity: 'e' })
    await scene.create({ entity: 'e', due: { in: minute } })
    return () => scene.store.cancel({ which: { tenant: 'default', job: 'mail', entity: 'e' }, reason: null })
  },
  'move to an instant': async (scene) => {
    const id = await scene.create()
    const due = scene.now + minute
    return () => scene.store.move({ which: { id }, to: { due } })
  },
  'move that retries': async (scene) => {
    const id = await scene.dead()
    return () => scene.store.move({ which: { id }, to: { retry: { in: 1000 } } })
  },
  'move that discards': async (scene) => {
    const id = await scene.dead()
    return () => scene.store.move({ which: { id }, to: { discard: 'obsolete' } })
  },
  'gate that reserves': async (scene) => {
    const { id, ...holding } = await scene.running()
    const request = reservation({ member: memberRef(holding), occurrence: id })
    return () => scene.store.gate(request)
  },
  'gate that takes an unknown outcome over': async (scene) => {
    await scene.store.gate(reservation({ holdMs: 0 }))
    const request = reservation({ holder: 'holder-2', takesUnknown: true })
    return () => scene.store.gate(request)
  },
  'gate that records': async (scene) => {
    const { tenant, scope, key, holder } = reservation()
    await scene.store.gate(reservation())
    return () => scene.store.gate({ act: 'record', tenant, scope, key, holder, result: '1', keepMs: minute })
  },
  'gate that releases': async (scene) => {
    const { tenant, scope, key, holder } = reservation()
    await scene.store.gate(reservation())
    return () => scene.store.gate({ act: 'release', tenant, scope, key, holder })
  },
  'gate that doubts': async (scene) => {
    const { tenant, scope, key, holder } = reservation()
    await scene.store.gate(reservation())
    return () => scene.store.gate({ act: 'doubt', tenant, scope, key, holder, reason: 'timeout' })
  },
  'gate that resolves': async (scene) => {
    const { tenant, scope, key } = reservation()
    await scene.store.gate(reservation({ holdMs: 0 }))
    return () => scene.store.gate({ act: 'resolve', tenant, scope, key, to: { result: '1', keepMs: minute } })
  },
  'beat that joins': async (scene) => () => scene.join(),
  'beat that releases': async (scene) => {
    await scene.running()
    return () => scene.beat()
  },
  'beat that records': async (scene) => {
    const holding = await scene.running()
    const { ref, turn } = memberOf(holding)
    const long = [{ ref, turn, startedAt: scene.now, deadlineAt: scene.now + minute }]
    return () => scene.beat({ claims: [holding.claim.id], long })
  },
  'beat that leaves': async (scene) => {
    await scene.join()
    return () => scene.beat({ phase: 'leave' })
  },
  rescue: async (scene) => {
    await scene.running()
    await scene.join('node-2')
    await scene.clock.advance(15_000)
    return () => scene.store.rescue(rescueOf([{ boot: 'node-1', beats: 1 }]))
  },
  'rescue of what overran': async (scene) => {
    const holding = await scene.running()
    await scene.store.checkpoint([
      { ...memberRef(holding), attempts: [], start: { startedAt: scene.now, deadlineAt: scene.now } },
    ])
    await scene.clock.advance(1)
    return () => scene.store.rescue(rescueOf([]))
  },
  'rescue of what was not started in time': async (scene) => {
    await scene.create({ startWithinMs: 1000 })
    await scene.clock.advance(1001)
    return () => scene.store.rescue(rescueOf([]))
  },
  prune: async (scene) => {
    await scene.completed({ key: 'k' })
    await scene.clock.advance(1)
    const request = { endedBefore: scene.now, keyRetentionMs: minute, limit: 10 }
    return () => scene.store.prune(request)
  },
}

export const repeatCases = topic(
  'repeat',
  Object.fromEntries(
    Object.entries(verbs).map(([verb, prepare]) => [
      `${verb}, said twice, acts once`,
      async (scene: Scene) => {
        const say = await prepare(scene)
        const before = await lastingDump(scene.store)
        await say()
        const once = await lastingDump(scene.store)
        if (!verb.startsWith('beat that records') && verb !== 'cancel of what runs')
          assert.notDeepEqual(once, before, 'the first call acts')
        await say()
        assert.deepEqual(await lastingDump(scene.store), once)
      },
    ]),
  ),
)
