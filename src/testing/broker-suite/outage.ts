import assert from 'node:assert/strict'
import type { BrokerDraft, BrokerServer } from '../broker-suite.ts'
import type { BrokerScene } from './scene.ts'

export const outageCases: readonly BrokerDraft[] = [
  {
    title: 'a broker that answers is healthy',
    needs: 'server',
    run: async (scene) => {
      const health = await scene.broker.health()
      assert.equal(health.isOk, true)
      if (health.version !== null) assert.match(health.version, /^\d+\.\d+/)
    },
  },
  {
    title: 'accepted messages outlive a kill of the server, and consumers go on after it',
    needs: 'server',
    run: async (scene) => {
      const server = serverOf(scene)
      const channel = scene.channel()
      const inbox = await scene.inbox(channel)
      await scene.publish(channel, 'before')
      assert.deepEqual(await inbox.texts(1), ['before'])
      const kept = scene.channel()
      await scene.publish(kept, 'kept-1', 'kept-2')
      await server.kill()
      const [down] = await scene.broker.publish([{ channel, id: 'down', body: 'down' }])
      assert.equal(down?.ok === false && down.reason, 'unreachable')
      assert.equal((await scene.broker.health()).isOk, false)
      await server.start()
      await scene.publishUntilAccepted(channel, 'after')
      assert.deepEqual((await (await scene.inbox(kept)).texts(2)).sort(), ['kept-1', 'kept-2'])
      for (let text = ''; text !== 'after'; ) [text = ''] = await inbox.texts(1)
      assert.equal((await scene.broker.health()).isOk, true)
    },
  },
  {
    title: 'a message that was not acknowledged before a kill of the server comes again',
    needs: 'server',
    run: async (scene) => {
      const server = serverOf(scene)
      const channel = scene.channel()
      const hold = Promise.withResolvers<void>()
      const inbox = await scene.inbox(channel, {
        answer: async (delivery) => {
          if (inbox.all.length === 1) await hold.promise
          else await delivery.ack()
        },
      })
      await scene.publish(channel, 'held')
      await inbox.next()
      await server.kill()
      await server.start()
      hold.resolve()
      assert.deepEqual(await inbox.texts(1), ['held'])
    },
  },
  {
    title: 'consumers and publishers go on with a server that has lost its data',
    needs: 'server',
    run: async (scene) => {
      const server = serverOf(scene)
      const channel = scene.channel()
      const topic = scene.channel('topic')
      const inbox = await scene.inbox(channel)
      const events = await scene.inbox(topic)
      await scene.publish(channel, 'before')
      await scene.publish(topic, 'event-before')
      await inbox.texts(1)
      await events.texts(1)
      await server.kill()
      await server.wipe()
      await server.start()
      await scene.publishUntilAccepted(channel, 'after')
      await scene.publishUntilAccepted(topic, 'event-after')
      assert.deepEqual(await inbox.texts(1), ['after'])
      assert.deepEqual(await events.texts(1), ['event-after'])
    },
  },
]

function serverOf({ server }: BrokerScene): BrokerServer {
  if (!server) throw new Error('brokerSuite needs `server`, or a reason in `lacks.server`')
  return server
}
