// A node whose clock is off: tick.process.ts STORE NAME OFF_MS. It plans a job that fires each second and makes up
// for all it missed, but has no handler to run it with.
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { interval } from '../../src/schedule/interval.ts'
import { say } from './say.ts'

const [store = '', name = '', offMs = '0'] = process.argv.slice(2)
const trueNow = Date.now
Date.now = () => trueNow() + Number(offMs)

const punctual = createPunctual({
  store: await openStoreUrl(store),
  jobs: [
    defineJob('tick', { schedule: interval('PT1S'), recovery: 'all' }).task('only'),
    defineJob('work').task('only', () => {}),
  ],
  name,
  node: { heartbeat: 100, timeout: 1500, checkInterval: 50 },
})
punctual.on('task.started', ({ id, job }) => {
  if (job === 'work') say('started', { id, name })
})
punctual.on('node.fenced', ({ reason }) => say('fenced', { reason, name }))
punctual.on('node.gone', ({ node }) => say('gone', { node, name }))

process.once('SIGTERM', async () => {
  await punctual.close()
  say('closed', { name })
})

await punctual.start()
say('ready', { name })
