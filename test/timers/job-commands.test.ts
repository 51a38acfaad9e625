import { describe, expect, it, onTestFinished } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { createPublisher } from '../../src/outbound/publish-job.ts'
import { createJobCommands } from '../../src/timers/job-commands.ts'
import { TimersScene } from './scene.ts'

async function sceneWithJobs(jobs?: readonly string[]) {
  const scene = await TimersScene.open()
  const ran: unknown[] = []
  scene.punctual.define(defineJob('invoice', ({ payload, tenant }) => void ran.push([tenant, payload])))
  const commands = createJobCommands({ punctual: scene.punctual, broker: scene.broker, ...(jobs && { jobs }) })
  commands.start()
  onTestFinished(() => commands.stop())
  await scene.settle()
  const send = async (command: object, id: string) => {
    await scene.broker.publish([{ channel: { name: 'jobs.commands', kind: 'queue' }, id, body: JSON.stringify(command) }])
    await scene.clock.advance(100)
  }
  return { scene, ran, send, commands }
}

describe('EnqueueJob and CancelJob', () => {
  it('enqueue work once, also when the message comes again, and cancel it by its key', async () => {
    const { scene, ran, send } = await sceneWithJobs()
    await send({ type: 'EnqueueJob', tenantId: 'acme', job: 'invoice', payload: { n: 1 } }, 'a')
    await send({ type: 'EnqueueJob', job: 'invoice', payload: { n: 2 }, key: 'k', delay: '1m' }, 'b')
    await send({ type: 'CancelJob', job: 'invoice', key: 'k' }, 'c')
    await scene.clock.advance('2m')
    expect(ran).toEqual([['acme', { n: 1 }]])
  })

  it('are told apart by the whole id of their message, whatever it is', async () => {
    const { ran, send } = await sceneWithJobs()
    const long = 'x'.repeat(199)
    for (const id of [`${long}a`, `${long}b`, `${long}b`, ' ', 'ż', 'ż'])
      await send({ type: 'EnqueueJob', job: 'invoice', payload: id }, id)
    expect(ran).toHaveLength(4)
  })

  it.each(['key', 'idempotencyKey'])('cancel work by its %s that was enqueued right before', async (key) => {
    const { scene, ran } = await sceneWithJobs()
    const channel = { name: 'jobs.commands', kind: 'queue' as const }
    const message = (type: string, id: string) => ({
      channel,
      id,
      body: JSON.stringify({ type, job: 'invoice', [key]: 'k', ...(type === 'EnqueueJob' && { delay: '1m' }) }),
    })
    await scene.broker.publish([message('EnqueueJob', 'a'), message('CancelJob', 'b')])
    await scene.clock.advance('2m')
    expect(ran).toEqual([])
  })

  it('leave work alone that has a higher version than the cancel', async () => {
    const { scene, ran, send } = await sceneWithJobs()
    await send({ type: 'EnqueueJob', job: 'invoice', payload: 1, idempotencyKey: 'k', delay: '1m', version: 2 }, 'a')
    await send({ type: 'CancelJob', job: 'invoice', idempotencyKey: 'k', version: 1 }, 'b')
    await scene.clock.advance('2m')
    expect(ran).toEqual([['default', 1]])
  })

  it.each([
    ['a built-in job', { type: 'EnqueueJob', job: 'punctual/timer' }],
    ['a job that is not allowed', { type: 'EnqueueJob', job: 'other' }],
    ['an unknown field', { type: 'EnqueueJob', job: 'invoice', soon: true }],
    ['an invalid delay', { type: 'EnqueueJob', job: 'invoice', delay: 'soon' }],
    ['another type', { type: 'Explode', job: 'invoice' }],
    ['no key to cancel by', { type: 'CancelJob', job: 'invoice' }],
  ])('terminate %s as poison', async (_, command) => {
    const { scene, ran, send, commands } = await sceneWithJobs(['invoice'])
    await send(command, 'a')
    expect(commands.metrics).toEqual({ commandsReceived: 1, poison: 1, commandsRetried: 0 })
    expect(ran).toEqual([])
    expect((await scene.timers.overview()).poisonCount).toBe(1)
  })
})

describe('punctual/publish', () => {
  it('publishes at its time under the id of the occurrence, and waits for a broker that is away without counting retries', async () => {
    const scene = await TimersScene.open()
    const publisher = createPublisher({ punctual: scene.punctual, broker: scene.broker })
    onTestFinished(() => publisher.stop())
    const { id } = await scene.punctual.enqueue(
      'punctual/publish',
      { channel: 'timers.events', body: { order: 42 } },
      { delay: '1m' },
    )
    scene.broker.isAway = true
    await scene.clock.advance('1h')
    expect(publisher.away?.reason).toMatch(/unreachable/)
    expect((await scene.punctual.get(id))?.state).toBe('pending')
    scene.broker.isAway = false
    await scene.clock.advance('10s')
    expect(scene.events.map(({ delivery, json }) => [delivery.id, json])).toEqual([[id, { order: 42 }]])
  })

  it('counts a message that no queue takes as a failed attempt, and one that is refused as final', async () => {
    const scene = await TimersScene.open()
    const publisher = createPublisher({ punctual: scene.punctual, broker: scene.broker })
    onTestFinished(() => publisher.stop())
    scene.broker.isAway = true
    scene.broker.failure = 'unroutable'
    const first = await scene.punctual.enqueue('punctual/publish', { channel: 'x', body: 1 })
    await scene.settle()
    expect((await scene.punctual.get(first.id))?.state).toBe('retrying')
    scene.broker.failure = 'refused'
    const second = await scene.punctual.enqueue('punctual/publish', { channel: 'x', body: 1 })
    await scene.settle()
    expect((await scene.punctual.get(second.id))?.state).toBe('dead')
  })

  it.each([{ channel: 'a.*', body: 1 }, { channel: 'a' }, { channel: 'a', body: 1, headers: { 'x-a': '1' } }])(
    'refuses the payload %j when it is enqueued',
    async (payload) => {
      const scene = await TimersScene.open()
      createPublisher({ punctual: scene.punctual, broker: scene.broker })
      await expect(scene.punctual.enqueue('punctual/publish', payload)).rejects.toMatchObject({ code: 'payload.rejected' })
    },
  )
})
