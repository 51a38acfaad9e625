import type { Broker } from '../../src/broker/broker.ts'
import { local } from '../../src/broker/local/index.ts'
import { registerBrokerSuite } from './register-broker-suite.ts'

// All "connections" of a case are the one broker in this process; it is replaced once it was closed.
let broker: Broker = local()

registerBrokerSuite({
  name: 'local',
  open: async () => {
    if (!(await broker.health()).isOk) broker = local()
    return broker
  },
  lacks: { server: 'it lives in this process' },
})
