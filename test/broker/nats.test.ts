import { AckPolicy, DeliverPolicy, jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream'
import { connect, headers } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Delivery, reasonHeader } from '../../src/broker/broker.ts'
import { nats } from '../../src/broker/nats/index.ts'
import { type NatsServer, startNats } from '../support/servers/nats.ts'
import { isLeftOut, nats as needed } from '../support/servers/needed.ts'
import { registerBrokerSuite } from './register-broker-suite.ts'

describe.skipIf(isLeftOut(needed))('NATS JetStream', () => {
  let server: NatsServer
  beforeAll(async () => {
    server = await startNats()
  })
  afterAll(() => server.stop())

  registerBrokerSuite({
    name: 'nats',
    open: async () => {
      const broker = nats({ servers: server.url, ackWait: '2s' })
      await broker.open()
      return broker
    },
    server: { kill: () => server.kill(), start: () => server.start(), wipe: () => server.wipe() },
  })
  it.each([
    ['headers that the adapter itself would not send', { 'X-Request-Id': 'r', under_score: 'u' }, 'id', 'bad'],
    ['a long header', { long: 'x'.repeat(5000) }, 'id', 'bad'],
    ['a long id', {}, 'i'.repeat(300), 'bad'],
    ['a body as large as the server takes', {}, 'id', 'x'.repeat(1_048_000)],
  ])('a foreign message with %s is terminated like any other', async (_, given, id, body) => {
    const name = `foreign.${crypto.randomUUID()}`
    const broker = nats(server.url)
    onTestFinished(() => broker.close())
    const attempts: number[] = []
    await broker.consume({ channel: { name, kind: 'queue' }, group: 'test', maxInFlight: 10 }, async (delivery) => {
      attempts.push(delivery.attempt)
      await delivery.terminate('no')
    })
    const buried = Promise.withResolvers<Delivery>()
    await broker.consume(
      { channel: { name: `${name}.dead`, kind: 'queue' }, group: 'test', maxInFlight: 1 },
      async (delivery) => {
        buried.resolve(delivery)
        await delivery.ack()
      },
    )
    const connection = await connect({ servers: server.url })
    onTestFinished(() => connection.close())
    const foreign = headers()
    for (const [key, value] of Object.entries(given)) foreign.set(key, value)
    await jetstream(connection).publish(name, body, { headers: foreign, msgID: id })
    const dead = await buried.promise
    expect(dead.headers).toMatchObject({ [reasonHeader]: 'no', ...lowered(given) })
    expect(body.startsWith(new TextDecoder().decode(dead.body))).toBe(true)
    expect(dead.body.length).toBeGreaterThan(body.length - 1000)
    expect(attempts).toEqual([1])
  })

  it('a foreign message whose headers leave no room for the reason is terminated without some of them', async () => {
    const name = `foreign.${crypto.randomUUID()}`
    const broker = nats(server.url)
    onTestFinished(() => broker.close())
    await broker.consume({ channel: { name, kind: 'queue' }, group: 'test', maxInFlight: 1 }, (one) => one.terminate('no'))
    const buried = Promise.withResolvers<Delivery>()
    const dead = { name: `${name}.dead`, kind: 'queue' as const }
    await broker.consume({ channel: dead, group: 'test', maxInFlight: 1 }, async (delivery) => {
      await delivery.ack()
      buried.resolve(delivery)
    })
    const connection = await connect({ servers: server.url })
    onTestFinished(() => connection.close())
    const foreign = headers()
    foreign.set('long', 'x'.repeat(65_450))
    foreign.set('short', 'kept')
    await jetstream(connection).publish(name, 'body', { headers: foreign })
    const { headers: kept, body } = await buried.promise
    expect([kept, new TextDecoder().decode(body)]).toMatchObject([{ [reasonHeader]: 'no', short: 'kept' }, 'body'])
  })

  it.each([
    ['that drops what no consumer waits for', { retention: RetentionPolicy.Interest }, null],
    ['with another consumer of its messages', { retention: RetentionPolicy.Workqueue }, { durable_name: 'other' }],
    ['whose consumer skips messages', {}, { durable_name: 'workers', deliver_policy: DeliverPolicy.New }],
  ])('a stream %s is refused', async (_, settings, consumer) => {
    const connection = await connect({ servers: server.url })
    onTestFinished(() => connection.close())
    const name = `other-${crypto.randomUUID()}`
    const jsm = await jetstreamManager(connection)
    await jsm.streams.add({ name, subjects: [name], ...settings })
    if (consumer) await jsm.consumers.add(name, { ack_policy: AckPolicy.Explicit, filter_subject: name, ...consumer })
    const broker = nats(server.url)
    onTestFinished(() => broker.close())
    const consumed = broker.consume({ channel: { name, kind: 'queue' }, group: 'test', maxInFlight: 1 }, (one) => one.ack())
    await expect(consumed).rejects.toMatchObject({ code: 'broker.invalid', message: expect.stringContaining(name) })
  })

  it('a stream that another process makes at the same time, with other settings, is used by both', async () => {
    const name = `both-${crypto.randomUUID()}`
    const brokers = ['1m', '30s', '10s'].map((duplicateWindow) =>
      nats({ servers: server.url, duplicateWindow, ackWait: duplicateWindow }),
    )
    onTestFinished(() => Promise.all(brokers.map((broker) => broker.close())).then(() => {}))
    await Promise.all(brokers.map((broker) => broker.open()))
    const seen: string[] = []
    const channel = { name, kind: 'queue' as const }
    await Promise.all(
      brokers.map((broker) =>
        broker.consume({ channel, group: 'test', maxInFlight: 1 }, async (delivery) => {
          await delivery.ack()
          seen.push(delivery.id as string)
        }),
      ),
    )
    const results = await Promise.all(brokers.map((broker, n) => broker.publish([{ channel, id: String(n), body: '' }])))
    expect(results.flat().map(({ ok }) => ok)).toEqual([true, true, true])
    await expect.poll(() => seen.toSorted()).toEqual(['0', '1', '2'])
  })

  it.each(['$JS.API.>', '$JS.API.STREAM.>', '$JS.API.CONSUMER.>'])('a missing right to %s is refused', async (denied) => {
    await using strict = await startNats({ user: 'timer', password: 'pw', denied })
    const broker = nats(strict.url.replace('nats://', 'nats://timer:pw@'))
    onTestFinished(() => broker.close())
    const channel = { name: 'commands', kind: 'queue' as const }
    const consumed = broker.consume({ channel, group: 'test', maxInFlight: 1 }, (delivery) => delivery.ack())
    await expect(consumed).rejects.toMatchObject({ code: 'broker.refused' })
  })

  it('a message that is larger than its stream takes is too large, for good', async () => {
    const connection = await connect({ servers: server.url })
    onTestFinished(() => connection.close())
    const name = `small.${crypto.randomUUID()}`
    const jsm = await jetstreamManager(connection)
    await jsm.streams.add({ name: name.replace('.', '_'), subjects: [name], max_msg_size: 100 })
    const broker = nats(server.url)
    onTestFinished(() => broker.close())
    const publish = (id: string, body: string) => broker.publish([{ channel: { name, kind: 'topic' }, id, body }])
    expect(await publish('large', 'x'.repeat(1000))).toMatchObject([{ ok: false, reason: 'too-large' }])
    expect(await publish('small', 'x')).toMatchObject([{ ok: true }])
  })

  it('a missing right to publish is refused, and other messages are not', async () => {
    await using strict = await startNats({ user: 'timer', password: 'pw', denied: 'secret' })
    const url = new URL(strict.url)
    url.username = 'timer'
    url.password = 'pw'
    const broker = nats(url.href)
    onTestFinished(() => broker.close())
    const [denied, allowed] = await broker.publish([
      { channel: { name: 'secret', kind: 'topic' }, id: '1', body: '' },
      { channel: { name: 'open', kind: 'topic' }, id: '2', body: '' },
    ])
    expect(denied).toMatchObject({ ok: false, reason: 'refused', message: expect.stringMatching(/permissions violation/i) })
    expect(allowed).toMatchObject({ ok: true })
  })

  it('a message that waits for its confirmation is given up when the connection is lost', async () => {
    await using frozen = await startNats()
    const broker = nats(frozen.url)
    onTestFinished(() => broker.close())
    const channel = { name: 'events', kind: 'topic' as const }
    await broker.publish([{ channel, id: '1', body: '' }])
    await frozen.freeze()
    const results = broker.publish([{ channel, id: '2', body: '' }])
    await frozen.kill()
    expect(await results).toMatchObject([{ ok: false, reason: 'unreachable', message: expect.stringMatching(/lost/) }])
  })
})

function lowered(given: object): object {
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [key.toLowerCase(), value]))
}
