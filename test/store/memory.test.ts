import { memory } from '../../src/store/memory/index.ts'
import { registerStoreSuite } from '../support/register-store-suite.ts'

registerStoreSuite({
  name: 'memory',
  open: async (env) => {
    const store = memory()
    await store.open(env)
    return store
  },
  lacks: {
    tx: 'memory has no transactions to share with a handler',
    join: 'memory has no transactions of callers',
    durable: 'memory ends with its process',
    'many-processes': 'memory lives in one process',
  },
})
