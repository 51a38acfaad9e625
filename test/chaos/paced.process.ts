// Calls under one key, one after the other in each of several lanes: paced.process.ts URL NAME PACE. It says the outcome of each.
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { say } from './say.ts'

const [url = '', name = '', pace = ''] = process.argv.slice(2)
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const punctual = createPunctual({ store: await openStoreUrl(url), log: silent })
const save = defineJob<string>('save')
const options = pace === 'throttle' ? { key: 'doc', throttle: '1h' } : { key: 'doc', debounce: { wait: '1h', longest: '9h' } }

async function lane(id: string): Promise<void> {
  for (let call = 0; call < 8; call += 1) {
    const payload = `${id}-${call}`
    const { outcome } = await punctual.enqueue(save, payload, options)
    say('called', { payload, outcome, isLast: call === 7 })
  }
}
await Promise.all([lane(`${name}a`), lane(`${name}b`)])
await punctual.close()
