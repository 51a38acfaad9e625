import { afterAll, beforeAll, describe } from 'vitest'
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
})
