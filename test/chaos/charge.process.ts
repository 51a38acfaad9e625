// A node that charges cards: charge.process.ts URL. The address of the bank is in BANK.
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { pay } from './charge-job.ts'
import { say } from './say.ts'

const [url = ''] = process.argv.slice(2)
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const punctual = createPunctual({
  store: await openStoreUrl(url),
  jobs: [pay],
  log: silent,
  node: { heartbeat: 100, timeout: 1000, checkInterval: 50 },
  concurrency: 3,
})
await punctual.start()
say('ready', { pid: process.pid })
