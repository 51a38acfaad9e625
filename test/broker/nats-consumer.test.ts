import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { NatsBroker } from '../../src/broker/nats/nats.ts'
import { NatsConsumer } from '../../src/broker/nats/nats-consumer.ts'

/** Messages that arrive one by one, until the pull is closed. */
class Pull {
  #isClosed = false

  async *[Symbol.asyncIterator]() {
    for (let n = 0; n < 20 && !this.#isClosed; n++) {
      yield { headers: undefined, data: new Uint8Array(), info: { deliveryCount: 1 }, ack() {} }
      await turn()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }
}

it('a consumer that is closed takes what is on its way to it, which would come again only after a while', async () => {
  const js = { consumers: { get: async () => ({ fetch: async () => new Pull() }) } }
  const streams = { consumer: async () => ({ stream: 's', consumer: 'c' }) }
  const broker = { link: async () => ({ js, streams }) } as unknown as NatsBroker
  let handled = 0
  const { promise: first, resolve } = Promise.withResolvers<void>()
  const options = { channel: { name: 'q', kind: 'queue' as const }, group: 'g', maxInFlight: 1 }
  const consumer = new NatsConsumer(broker, options, async (delivery) => {
    await delivery.ack()
    handled += 1
    resolve()
  })
  await consumer.start()
  await first
  await consumer.close()
  expect(handled).toBe(20)
})
