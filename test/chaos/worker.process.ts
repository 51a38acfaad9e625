// A node on a store: worker.process.ts URL NAME [EXECUTION_TIMEOUT]. It prints each task it starts, and the signals of its handlers.
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { block, crunch, hold, limited, share, steps, stubborn } from './jobs.ts'
import { say } from './say.ts'

const [url = '', name = '', executionTimeout] = process.argv.slice(2)
// A second instead of the default fifteen, or tests would take minutes.
const punctual = createPunctual({
  store: await openStoreUrl(url),
  jobs: [steps, share, hold, block, crunch, stubborn, limited],
  name,
  node: { heartbeat: 100, timeout: 1000, checkInterval: 50, ...(executionTimeout && { abandonAfter: 100 }) },
  grace: '5s',
  concurrency: 4,
  ...(executionTimeout && { executionTimeout }),
})

punctual.on('task.started', ({ id, job, task, attempt }) => say('started', { id, job, task, attempt, name }))
punctual.on('occurrence.completed', ({ id, job }) => say('completed', { id, job, name }))
punctual.on('occurrence.lost', ({ id }) => say('lost', { id, name }))
punctual.on('node.fenced', ({ node }) => say('fenced', { node, name }))
punctual.on('node.gone', ({ node, rescued }) => say('gone', { node, rescued, name }))

process.once('SIGTERM', async () => {
  await punctual.close()
  say('closed', { name })
})

await punctual.start()
say('ready', { name })
