import { expect, it, onTestFinished } from 'vitest'
import { PunctualError } from '../../src/errors.ts'
import { defineJob } from '../../src/model/definition.ts'
import { createPublisher } from '../../src/outbound/publish-job.ts'
import { cron } from '../../src/schedule/cron.ts'
import { memory } from '../../src/store/memory/index.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { TimersScene } from '../timers/scene.ts'

const typesOf = (scene: TimersScene) => scene.events.map(({ json }) => json.type)

async function opened(store = memory()): Promise<TimersScene> {
  const scene = await TimersScene.open({}, { store })
  const publisher = createPublisher({ punctual: scene.punctual, broker: scene.broker })
  onTestFinished(() => publisher.stop())
  return scene
}

it('TM-15 completed, failed and canceled work of a job that publishes is announced once each', async () => {
  const scene = await opened()
  scene.punctual.define(
    defineJob<{ fails?: boolean }>('invoice', { publish: 'timers.events', retry: { max: 0 } }, ({ payload, fail }) =>
      payload?.fails ? fail('no') : undefined,
    ),
  )
  await scene.settle()
  await scene.punctual.enqueue('invoice', {})
  await scene.punctual.enqueue('invoice', { fails: true })
  const { id } = await scene.punctual.enqueue('invoice', {}, { delay: '1h', key: 'order-42' })
  await scene.punctual.cancel(id, { reason: 'paid' })
  await scene.clock.advance('10s')
  expect(scene.events.map(({ json }) => [json.type, json.state, json.reason]).sort()).toEqual([
    ['occurrence.canceled', 'canceled', 'paid'],
    ['occurrence.completed', 'completed', null],
    ['occurrence.failed', 'dead', null],
  ])
  expect(scene.events.find(({ json }) => json.state === 'canceled')?.json).toMatchObject({ occurrenceId: id, key: 'order-42' })
  expect(scene.events[0]?.delivery.headers.type).toMatch(/^occurrence\./)
})

it('TM-15 missed instants and pauses are announced, and only the chosen events', async () => {
  const scene = await opened()
  const on = ['occurrence.skipped', 'job.paused', 'job.resumed'] as const
  const publish = { channel: 'timers.events', on }
  scene.punctual.define(defineJob('tick', { publish, schedule: cron('* * * * *') }, () => {}))
  await scene.clock.advance('90s')
  await scene.punctual.pause('tick', { reason: 'audit', by: 'ada' })
  await scene.clock.advance('2m')
  await scene.punctual.resume('tick')
  await scene.clock.advance('10s')
  expect(new Set(typesOf(scene))).toEqual(new Set(on))
  expect(scene.events.find(({ json }) => json.type === 'job.paused')?.json).toMatchObject({
    job: 'tick',
    reason: 'audit',
    by: 'ada',
  })
})

it('TM-15 an event waits while the broker is away, and no retry is counted', async () => {
  const scene = await opened()
  scene.punctual.define(defineJob('invoice', { publish: 'timers.events' }, () => {}))
  await scene.settle()
  scene.broker.isAway = true
  await scene.punctual.enqueue('invoice')
  await scene.clock.advance('10m')
  expect(await scene.punctual.counts({ job: 'punctual/publish' })).toMatchObject({ pending: 1, dead: 0 })
  scene.broker.isAway = false
  await scene.clock.advance('10s')
  expect(typesOf(scene)).toEqual(['occurrence.completed'])
})

it('TM-15 the event of an end is stored by the commit of the end', async () => {
  const inner = memory()
  const store = faultyStore(inner)
  const scene = await TimersScene.open({}, { store })
  scene.punctual.define(defineJob('invoice', { publish: 'timers.events' }, () => {}))
  await scene.settle()
  const release = store.holdAnswer('settle')
  await scene.punctual.enqueue('invoice')
  await scene.clock.advance('1s')
  // The node has not learned yet that the end is written.
  expect((await inner.counts({ job: 'invoice' })).states.completed).toBe(1)
  expect((await inner.counts({ job: 'punctual/publish' })).states.pending).toBe(1)
  release()
})

it.each([
  ['orders.*', 'publish.channel'],
  [{ channel: 'orders', kind: 'fanout' }, 'publish.kind'],
  [{ channel: 'orders', on: ['occurrence.lost'] }, 'publish.on'],
  [{ channel: 'orders', on: [] }, 'publish.on'],
])('an outlet such as %j is refused by defineJob', (publish, field) => {
  const define = () => defineJob('invoice', { publish: publish as never })
  expect(define).toThrow(PunctualError)
  expect(define).toThrow(field)
})
