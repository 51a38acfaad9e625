// Events of jobs that publish them become work of `punctual/publish`, in the commit of what they report.
import assert from 'node:assert/strict'
import type { TurnEnd } from '../../model/lifecycle.ts'
import { outletText, publishJob } from '../../model/publish.ts'
import { isoText } from '../../time/instant.ts'
import { endings } from './hooks.ts'
import { minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

const told = { publish: outletText('events') }

interface Message {
  readonly headers: { readonly type: string }
  readonly body: Readonly<Record<string, unknown>>
}

/** The messages of a tenant, the oldest first. */
async function messages(scene: Scene, tenant = 'default'): Promise<readonly Message[]> {
  const { items } = await scene.store.list({ tenant, job: publishJob, limit: 100 })
  const histories = await Promise.all(items.map(({ id }) => scene.get(id)))
  return histories.map(({ record }) => JSON.parse(record.payload as string) as Message).toReversed()
}

async function types(scene: Scene): Promise<readonly string[]> {
  return (await messages(scene)).map(({ headers }) => headers.type)
}

const unattended = Object.entries(endings).map(
  ([ending, bring]) =>
    [
      `TM-15 ${ending} is published once`,
      async (scene: Scene) => {
        await scene.join()
        const id = await bring(scene, told)
        const { state } = await scene.get(id)
        const all = (await messages(scene)).map(({ body }) => [body.occurrenceId, body.state])
        assert.deepEqual(all.at(-1), [id, state])
        assert.equal(all.length, ending === 'a discard' ? 2 : 1)
      },
    ] as const,
)

const settled = (['completed', 'failed', 'dead', 'canceled'] satisfies TurnEnd[]).map(
  (end) =>
    [
      `TM-15 work that its node ends as ${end} is published once, however often that is repeated`,
      async (scene: Scene) => {
        const holding = await scene.running({ ...told, key: 'order-42' })
        const item = scene.settleItem(holding, end)
        await scene.settleAll([item])
        await scene.settleAll([item])
        const { record, turns } = await scene.get(holding.id)
        const [turn] = turns
        const type = `occurrence.${end === 'dead' ? 'failed' : end}`
        assert.deepEqual(await messages(scene), [
          {
            channel: 'events',
            kind: 'topic',
            headers: { type },
            body: {
              type,
              tenantId: 'default',
              job: 'mail',
              occurrenceId: holding.id,
              key: 'order-42',
              source: record.source,
              turn: 1,
              state: end,
              reason: turn?.reason,
              scheduledAt: isoText(record.scheduledAt),
              startedAt: turn?.startedAt == null ? null : isoText(turn.startedAt),
              endedAt: isoText(turn?.endedAt as number),
            },
          },
        ])
        assert.equal((await scene.store.counts({ job: publishJob })).states.pending, 1)
      },
    ] as const,
)

export const messageCases = topic('messages', {
  ...Object.fromEntries(unattended),
  ...Object.fromEntries(settled),
  'a message can be claimed at once, by nodes that publish, and its own end is not published': async (scene) => {
    const holding = await scene.running(told)
    await scene.settle(holding, 'completed')
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.join('node-2', { kinds: [publishJob] })
    const message = await scene.claim({ node: 'node-2', kinds: [publishJob] })
    assert.equal(message.answer.members.length, 1)
    await scene.settle(message, 'completed')
    assert.equal((await messages(scene)).length, 1)
  },
  'work without an outlet, a turn that another follows, and events that were not chosen are not published': async (scene) => {
    await scene.completed()
    const parked = await scene.running(told)
    await scene.settle(parked, 'parked', { delayMs: minute })
    const chosen = await scene.running({ publish: outletText({ channel: 'events', on: ['occurrence.failed'] }) })
    await scene.settle(chosen, 'completed')
    assert.deepEqual(await messages(scene), [])
  },
  'an end that is refused is not published': async (scene) => {
    const holding = await scene.running(told)
    await scene.loseNode()
    assert.equal(await scene.settle(holding, 'completed'), 'lost')
    assert.deepEqual(await messages(scene), [])
  },
  'work that was not started in time is published as missed': async (scene) => {
    await scene.join()
    await scene.create({ ...told, startWithinMs: 1000 })
    await scene.clock.advance(1001)
    await scene.rescue({ gone: [] })
    assert.deepEqual(await types(scene), ['occurrence.missed'])
  },
  'work that a limit skips is published with the reason': async (scene) => {
    const limits = [{ kind: 'overlap', key: 'o', limit: 1, policy: 'skip' }] as const
    await scene.running({ ...told, limits })
    await scene.create({ ...told, limits })
    const { answer } = await scene.claim()
    assert.deepEqual(
      (await messages(scene)).map(({ body }) => [body.type, body.reason]),
      answer.passed.map(({ reason }) => ['occurrence.skipped', reason]),
    )
    assert.equal(answer.passed.length, 1)
  },
  'planned instants that are passed over are published, single ones and ranges': async (scene) => {
    const job = await scene.putJob(told)
    const [at, from, to] = [scene.now - minute, scene.now - 60 * minute, scene.now - 2 * minute]
    const end = { state: 'skipped', reason: 'paused' } as const
    const ranges = [{ from, to, count: 59, state: 'missed', reason: 'no node ran' } as const]
    await scene.store.plan([scene.planOf(job, [], { rows: [scene.planRow(job, at, { end })], ranges })])
    const found = (await messages(scene)).map(({ body }) => body).sort((a, b) => (String(a.type) < String(b.type) ? -1 : 1))
    const common = { tenantId: 'default', job: 'report' }
    assert.deepEqual(found[0], {
      ...common,
      ...{ type: 'occurrence.missed', state: 'missed', reason: 'no node ran', from: isoText(from), to: isoText(to), count: 59 },
    })
    assert.deepEqual([found[1]?.type, found[1]?.reason, found[1]?.scheduledAt], ['occurrence.skipped', 'paused', isoText(at)])
  },
  'work of a job that the caller does not know is published by what its version says': async (scene) => {
    await scene.putJob({ ...told, definition: 'mail', schedule: null }, { name: 'mail' })
    const id = await scene.create({ limits: 'declared' })
    await scene.store.cancel({ which: { id }, reason: 'paid' })
    assert.deepEqual(
      (await messages(scene)).map(({ body }) => [body.occurrenceId, body.reason]),
      [[id, 'paid']],
    )
  },
  'a pause of a job and its end are published; those of a tenant are not': async (scene) => {
    await scene.putJob(told)
    await scene.pause({ open: { until: null, reason: 'audit', by: 'ada' } })
    await scene.clock.advance(minute)
    await scene.pause({ open: null })
    await scene.pause({ job: null })
    const [paused, resumed, ...rest] = await messages(scene)
    assert.deepEqual(paused?.body, {
      ...{ type: 'job.paused', tenantId: 'default', job: 'report', reason: 'audit', by: 'ada' },
      ...{ from: isoText(scene.now - minute), until: null },
    })
    assert.deepEqual([resumed?.body.type, rest], ['job.resumed', []])
  },
  'messages belong to the tenant of what they report': async (scene) => {
    const holding = await scene.running({ ...told, tenant: 'acme' })
    await scene.settle(holding, 'completed')
    assert.deepEqual(
      (await messages(scene, 'acme')).map(({ body }) => body.tenantId),
      ['acme'],
    )
    assert.deepEqual(await messages(scene), [])
  },
})
