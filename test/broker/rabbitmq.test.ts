import { afterAll, beforeAll, describe } from 'vitest'
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
})
