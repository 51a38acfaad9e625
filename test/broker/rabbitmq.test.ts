import { Connection } from 'rabbitmq-client'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Broker, type Channel, type Delivery, deadChannel, reasonHeader } from '../../src/broker/broker.ts'
import { rabbitmq } from '../../src/broker/rabbitmq/index.ts'
import { patiently } from '../support/patiently.ts'
import { isLeftOut, rabbitmq as needed } from '../support/servers/needed.ts'
import { type RabbitmqServer, startRabbitmq } from '../support/servers/rabbitmq.ts'
import { registerBrokerSuite } from './register-broker-suite.ts'

describe.skipIf(isLeftOut(needed))('RabbitMQ', () => {
  let server: RabbitmqServer
  beforeAll(async () => {
    server = await startRabbitmq()
  })
  afterAll(() => server.stop())

  const open = (queueType: 'quorum' | 'classic') => async () => {
    const broker = rabbitmq({ url: server.url, queueType })
    await broker.open()
    return broker
  }
  registerBrokerSuite({
    name: 'rabbitmq with quorum queues',
    open: open('quorum'),
    lacks: {
      dedupe: 'RabbitMQ keeps no ids',
      server: 'RabbitMQ 3.10 does not bring back a quorum queue that was made just before a kill',
    },
  })
  registerBrokerSuite({
    name: 'rabbitmq',
    open: open('classic'),
    server: { kill: () => server.kill(), start: () => server.start(), wipe: () => server.wipe() },
    lacks: { dedupe: 'RabbitMQ keeps no ids' },
  })

  it.each([
    ['application/json', { dueAt: 'soon' }, '{"dueAt":"soon"}'],
    ['application/json', Buffer.from('{"n": '), '{"n": '],
    ['text/plain', 'a text', 'a text'],
    ['application/octet-stream', Buffer.from('bytes'), 'bytes'],
  ])('a foreign message of type %s arrives as it was sent', async (contentType, sent, body) => {
    const broker = rabbitmq({ url: server.url, queueType: 'classic' })
    onTestFinished(() => broker.close())
    const channel = { name: `foreign.${crypto.randomUUID()}`, kind: 'queue' } as const
    const arrived = [Promise.withResolvers<Delivery>(), Promise.withResolvers<Delivery>()] as const
    await broker.consume({ channel, group: 'test', maxInFlight: 10 }, async (delivery) => {
      arrived[delivery.attempt === 1 ? 0 : 1].resolve(delivery)
      await (delivery.attempt === 1 ? delivery.retry(1) : delivery.ack())
    })
    const connection = new Connection(server.url)
    onTestFinished(() => connection.close())
    const publisher = connection.createPublisher({ confirm: true })
    await publisher.send({ routingKey: channel.name, contentType, type: 'ScheduleTimer' }, sent)
    await publisher.close()
    for (const { promise } of arrived) {
      const delivery = await promise
      expect(new TextDecoder().decode(delivery.body)).toBe(body)
      expect(delivery.headers).toMatchObject({ 'content-type': contentType, type: 'ScheduleTimer' })
    }
  })

  it('a message is sent with its content type, its type and its exact bytes', async () => {
    const broker = rabbitmq({ url: server.url, queueType: 'classic' })
    onTestFinished(() => broker.close())
    const channel = { name: `typed.${crypto.randomUUID()}`, kind: 'queue' } as const
    const headers = { 'content-type': 'application/json', type: 'DueTimeReached' }
    await broker.publish([{ channel, id: 'one', headers, body: '{"n": 12345678901234567890}' }])
    const connection = new Connection(server.url)
    onTestFinished(() => connection.close())
    const found = await connection.basicGet({ queue: channel.name, noAck: true })
    expect(found).toMatchObject({ contentType: 'application/json', type: 'DueTimeReached', contentEncoding: 'utf-8' })
    expect(String(found?.body)).toBe('{"n": 12345678901234567890}')
  })

  /** Sends a message as another sender does. */
  async function sendForeign(queue: string, envelope: object): Promise<void> {
    const connection = new Connection({ url: server.url, frameMax: 131_072 })
    onTestFinished(() => connection.unsafeDestroy())
    await connection.createPublisher({ confirm: true }).send({ routingKey: queue, ...envelope }, Buffer.from('foreign'))
  }

  async function firstOf(broker: Broker, channel: Channel, handle: (delivery: Delivery) => Promise<void>): Promise<Delivery> {
    const { promise, resolve } = Promise.withResolvers<Delivery>()
    await broker.consume({ channel, group: 'test', maxInFlight: 1 }, async (delivery) => {
      await handle(delivery)
      resolve(delivery)
    })
    return promise
  }

  function opened(url = server.url): Broker {
    const broker = rabbitmq({ url, queueType: 'classic' })
    onTestFinished(() => broker.close())
    return broker
  }

  const newQueue = () => ({ name: `q.${crypto.randomUUID()}`, kind: 'queue' }) as const

  it('a foreign message whose headers leave no room for the reason is terminated without some of them', async () => {
    const broker = opened()
    const channel = newQueue()
    await broker.publish([{ channel, id: 'own', body: '' }])
    await sendForeign(channel.name, { messageId: 'big', headers: { long: 'x'.repeat(120_000), short: 'kept' } })
    await firstOf(broker, channel, (delivery) => (delivery.id === 'big' ? delivery.terminate('no') : delivery.ack()))
    const dead = await firstOf(broker, deadChannel(channel), (delivery) => delivery.ack())
    expect([dead.id, dead.headers]).toEqual(['big', expect.objectContaining({ [reasonHeader]: 'no', short: 'kept' })])
  })

  it('a count of attempts that is none is ignored', async () => {
    const broker = opened()
    const channel = newQueue()
    await broker.publish([{ channel, id: 'own', body: '' }])
    await sendForeign(channel.name, { headers: { 'x-punctual-attempt': 'many' } })
    const attempts: number[] = []
    await firstOf(broker, channel, async (delivery) => {
      attempts.push(delivery.attempt)
      await delivery.ack()
    })
    await expect.poll(() => attempts).toEqual([1, 1])
  })

  it.each([{ id: '€'.repeat(100) }, { id: 'a', headers: { type: 'x'.repeat(256) } }])(
    'a message with more than 255 bytes where AMQP has no more is refused',
    async (message) => {
      const channel = newQueue()
      const [result] = await opened().publish([{ channel, body: '', ...message }])
      expect(result).toMatchObject({ ok: false, reason: 'refused', message: expect.stringContaining('255') })
    },
  )

  it.each([
    ['that ends with the server', { durable: false }],
    ['that ends with its consumers', { durable: true, autoDelete: true }],
    ['of one connection', { durable: true, exclusive: true }],
    ['that is a stream', { durable: true, arguments: { 'x-queue-type': 'stream' as const } }],
  ])('a queue %s is refused', async (_, settings) => {
    const connection = new Connection(server.url)
    onTestFinished(() => connection.unsafeDestroy())
    const channel = newQueue()
    await connection.queueDeclare({ queue: channel.name, ...settings })
    const broker = opened()
    const consumed = broker.consume({ channel, group: 'test', maxInFlight: 1 }, (delivery) => delivery.ack())
    await expect(consumed).rejects.toMatchObject({ code: 'broker.invalid' })
    expect(await broker.publish([{ channel, id: '1', body: '' }])).toMatchObject([{ ok: false, reason: 'refused' }])
  })

  it('a queue with other settings that loses nothing is used', async () => {
    const connection = new Connection(server.url)
    onTestFinished(() => connection.unsafeDestroy())
    const channel = newQueue()
    const settings = { 'x-queue-type': 'quorum', 'x-max-length': 5 } as const
    await connection.queueDeclare({ queue: channel.name, durable: true, arguments: settings })
    const broker = opened()
    expect(await broker.publish([{ channel, id: '1', body: '' }])).toMatchObject([{ ok: true }])
    expect(await firstOf(broker, channel, (delivery) => delivery.ack())).toMatchObject({ id: '1' })
  })

  it('a quorum queue is made without the limit of deliveries that RabbitMQ 4 would give it', async () => {
    const broker = await open('quorum')()
    onTestFinished(() => broker.close())
    const connection = new Connection(server.url)
    onTestFinished(() => connection.close())
    const queue = `unlimited.${crypto.randomUUID()}`
    await broker.publish([{ channel: { name: queue, kind: 'queue' }, id: 'one', body: '' }])
    // Refused where the queue has other settings.
    const settings = { 'x-queue-type': 'quorum' as const, 'x-delivery-limit': 2 ** 31 - 1 }
    await expect(connection.queueDeclare({ queue, durable: true, arguments: settings })).resolves.toMatchObject({ queue })
  })

  it.each([{ kind: 'queue' }, { kind: 'topic' }] as const)(
    'a consumer goes on when its $kind is deleted, also where nothing is published',
    async ({ kind }) => {
      const connect = open('classic')
      const brokers = [await connect(), await connect()] as const
      onTestFinished(() => Promise.all(brokers.map((broker) => broker.close())).then(() => {}))
      const connection = new Connection(server.url)
      onTestFinished(() => connection.close())
      const channel = { name: `gone.${crypto.randomUUID()}`, kind }
      const arrived = Promise.withResolvers<void>()
      await brokers[0].consume({ channel, group: 'test', maxInFlight: 1 }, async (delivery) => {
        await delivery.ack()
        arrived.resolve()
      })
      await connection.queueDelete({ queue: kind === 'queue' ? channel.name : `${channel.name}.test` })
      if (kind === 'topic') await connection.exchangeDelete({ exchange: channel.name })
      const publish = () => brokers[1].publish([{ channel, id: 'one', body: '' }])
      await vi.waitFor(async () => expect(await publish()).toMatchObject([{ ok: true }]), patiently)
      await arrived.promise
    },
  )

  it('a consumer, a responder and the broker are closed while the server is away', async () => {
    // The client itself waits so long for a connection before it closes a consumer.
    const connection = { acquireTimeout: 3_600_000, retryLow: 1, retryHigh: 1 }
    const broker = rabbitmq({ url: server.url, queueType: 'classic', connection })
    const channel = { name: `away.${crypto.randomUUID()}`, kind: 'queue' } as const
    const consumer = await broker.consume({ channel, group: 'test', maxInFlight: 1 }, (delivery) => delivery.ack())
    const responder = await broker.respond(`${channel.name}.when`, 'test', async (body) => body)
    await server.kill()
    onTestFinished(() => server.start())
    await vi.waitFor(() => expect(broker.open()).rejects.toMatchObject({ code: 'broker.unreachable' }), patiently)
    await consumer.close()
    await responder.close()
    await broker.close()
  })

  it('a broker is closed, and leaves no error behind, while the server is frozen', async () => {
    const broker = await open('classic')()
    const [known, other] = [`known.${crypto.randomUUID()}`, `other.${crypto.randomUUID()}`]
    await broker.consume({ channel: { name: known, kind: 'queue' }, group: 'test', maxInFlight: 1 }, (one) => one.ack())
    await server.freeze()
    onTestFinished(() => server.thaw())
    const message = { channel: { name: other, kind: 'topic' as const }, id: 'one', body: '' }
    expect(await broker.publish([message])).toMatchObject([{ ok: false, reason: 'unreachable' }])
    await broker.close()
  })

  it('a responder that is refused throws', async () => {
    const connection = new Connection(server.url)
    onTestFinished(() => connection.unsafeDestroy())
    const { name } = newQueue()
    await connection.queueDeclare({ queue: name, durable: true })
    const answer = async () => 'no'
    await expect(opened().respond(name, 'test', answer)).rejects.toMatchObject({ code: 'broker.invalid' })
  })

  it('a missing right to publish is refused, and other messages are not', async () => {
    await server.ctl('add_user', 'limited', 'pw')
    await server.ctl('set_permissions', '-p', '/', 'limited', '.*', '^(?!secret).*', '.*')
    const url = new URL(server.url)
    url.username = 'limited'
    url.password = 'pw'
    const broker = opened(url.href)
    const channel = newQueue()
    await broker.publish([{ channel, id: 'first', body: '' }])
    const secret = { channel: { name: 'secret', kind: 'topic' as const }, id: 'secret', body: '' }
    const others = Array.from({ length: 20 }, (_, n) => ({ channel, id: `m-${n}`, body: 'x'.repeat(10_000) }))
    const results = await broker.publish([...others, secret, ...others.map((one) => ({ ...one, id: `${one.id}-after` }))])
    expect(results.filter(({ ok }) => !ok)).toMatchObject([{ reason: 'refused' }])
    expect(results[20]?.ok).toBe(false)
  })

  it('a server that is out of memory is away, and takes messages when it has room again', async () => {
    const broker = opened()
    const channel = newQueue()
    const publish = async (id: string) => (await broker.publish([{ channel, id, body: '' }]))[0]
    expect(await publish('before')).toMatchObject({ ok: true })
    await server.ctl('set_vm_memory_high_watermark', 'absolute', '1000000')
    onTestFinished(() => server.ctl('set_vm_memory_high_watermark', '0.4'))
    await expect.poll(() => publish('blocked'), { timeout: 30_000 }).toMatchObject({ ok: false, reason: 'unreachable' })
    expect(await broker.health()).toMatchObject({ isOk: false, reason: expect.stringContaining('blocked') })
    await server.ctl('set_vm_memory_high_watermark', '0.4')
    await expect.poll(async () => (await publish('after'))?.ok, { timeout: 30_000 }).toBe(true)
  })
})
