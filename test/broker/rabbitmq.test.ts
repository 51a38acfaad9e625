import { Connection } from 'rabbitmq-client'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Delivery } from '../../src/broker/broker.ts'
import { rabbitmq } from '../../src/broker/rabbitmq/index.ts'
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
})
