import assert from 'node:assert/strict'
import { deadChannel, reasonHeader } from '../../broker/broker.ts'
import { systemClock } from '../../time/clock.ts'
import type { BrokerDraft } from '../broker-suite.ts'
import { textOf } from './scene.ts'

export const deliveryCases: readonly BrokerDraft[] = [
  {
    title: 'members of a group share the messages, each of which goes to one of them',
    run: async (scene) => {
      const channel = scene.channel()
      const hold = Promise.withResolvers<void>()
      const answer = async (delivery: { ack(): Promise<void> }) => {
        await hold.promise
        await delivery.ack()
      }
      // Each holds one: the second message can only go to the other.
      const one = await scene.inbox(channel, { maxInFlight: 1, answer })
      const two = await scene.inbox(channel, { maxInFlight: 1, answer, broker: await scene.another() })
      await scene.publish(channel, 'a', 'b')
      const received = [textOf(await one.next()), textOf(await two.next())]
      hold.resolve()
      assert.deepEqual(received.sort(), ['a', 'b'])
    },
  },
  {
    title: 'no more than maxInFlight messages are handled at once',
    run: async (scene) => {
      const channel = scene.channel()
      let underWay = 0
      let most = 0
      const inbox = await scene.inbox(channel, {
        maxInFlight: 3,
        answer: async (delivery) => {
          most = Math.max(most, ++underWay)
          await new Promise<void>((resolve) => systemClock.soon(resolve))
          underWay--
          await delivery.ack()
        },
      })
      await scene.publish(channel, ...Array.from({ length: 30 }, (_, at) => `m-${at}`))
      await inbox.texts(30)
      assert.ok(most <= 3, `${most} at once`)
    },
  },
  {
    title: 'a message to retry comes again, not before its wait, and counts its deliveries',
    run: async (scene) => {
      const channel = scene.channel()
      let retriedAt = 0
      const inbox = await scene.inbox(channel, {
        answer: async (delivery) => {
          if (delivery.attempt > 1) return delivery.ack()
          retriedAt = systemClock.mono()
          await delivery.retry(300)
        },
      })
      await scene.publish(channel, 'again')
      assert.equal((await inbox.next()).attempt, 1)
      const second = await inbox.next()
      assert.equal(second.attempt, 2)
      assert.equal(second.id, 'again')
      assert.ok(systemClock.mono() - retriedAt >= 290)
    },
  },
  {
    title: 'a message whose handler throws comes again',
    run: async (scene) => {
      const channel = scene.channel()
      const inbox = await scene.inbox(channel, {
        answer: async (delivery) => {
          if (delivery.attempt === 1) throw new Error('on purpose')
          await delivery.ack()
        },
      })
      await scene.publish(channel, 'again')
      await inbox.next()
      assert.equal((await inbox.next()).attempt, 2)
    },
  },
  {
    title: 'a terminated message is kept with its reason, and does not come again',
    run: async (scene) => {
      const channel = scene.channel()
      const inbox = await scene.inbox(channel, {
        maxInFlight: 1,
        answer: (delivery) => (textOf(delivery) === 'bad' ? delivery.terminate('dueAt is missing: żółć') : delivery.ack()),
      })
      await scene.publish(channel, 'bad', 'good')
      await inbox.texts(2)
      const dead = await (await scene.inbox(deadChannel(channel))).next()
      assert.equal(textOf(dead), 'bad')
      assert.equal(dead.id, 'bad')
      assert.equal(decodeURIComponent(dead.headers[reasonHeader] ?? ''), 'dueAt is missing: żółć')
      await scene.publish(channel, 'last')
      assert.deepEqual(await inbox.texts(1), ['last'])
    },
  },
  {
    title: 'a delivery is answered once',
    run: async (scene) => {
      const channel = scene.channel()
      const second = Promise.withResolvers<unknown>()
      await scene.consume(channel, async (delivery) => {
        await delivery.ack()
        second.resolve(await delivery.retry(0).catch((error: unknown) => error))
      })
      await scene.publish(channel, 'one')
      assert.equal(((await second.promise) as { code?: string }).code, 'broker.invalid')
    },
  },
  {
    title: 'a broker that is closed ends its consumers, and waits until their deliveries are answered',
    run: async (scene) => {
      const channel = scene.channel()
      const broker = await scene.another()
      if (broker === scene.broker) return
      const begun = Promise.withResolvers<void>()
      const hold = Promise.withResolvers<void>()
      let isHandled = false
      await broker.consume({ channel, group: 'suite', maxInFlight: 1 }, async (delivery) => {
        begun.resolve()
        await hold.promise
        await delivery.terminate('too late')
        isHandled = true
      })
      await scene.publish(channel, 'one')
      await begun.promise
      const closed = broker.close().then(() => isHandled)
      hold.resolve()
      assert.equal(await closed, true)
      assert.deepEqual(await (await scene.inbox(deadChannel(channel))).texts(1), ['one'])
    },
  },
  {
    title: 'close waits for what is being handled, and leaves the rest to the next consumer',
    run: async (scene) => {
      const channel = scene.channel()
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      const hold = Promise.withResolvers<void>()
      const handled: string[] = []
      const consumer = await scene.consume(
        channel,
        async (delivery) => {
          begin()
          await hold.promise
          await delivery.ack()
          handled.push(textOf(delivery))
        },
        { maxInFlight: 1 },
      )
      await scene.publish(channel, 'first', 'second')
      await begun
      const closed = consumer.close().then(() => [...handled])
      hold.resolve()
      assert.deepEqual(await closed, ['first'])
      assert.deepEqual(await (await scene.inbox(channel)).texts(1), ['second'])
    },
  },
]
