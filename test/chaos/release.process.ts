// A node with old or new code: release.process.ts STORE NAME old|new RELEASE. Both know `report`, which has got a task and another
// schedule, and `meet`; only the new code knows `fresh`. It runs one at a time.
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { say } from './say.ts'

const [store = '', name = '', code = '', release = ''] = process.argv.slice(2)

const daily = (hour: number) => ({ schedule: cron(`0 ${hour} * * *`, { timezone: 'UTC' }) })
const oldReport = defineJob('report', daily(18)).task('fetch', () => 'rows')
const newReport = defineJob('report', daily(9))
  .task('fetch', () => 'rows')
  .task('send', () => 'sent')
const fresh = defineJob('fresh').task('only', () => 1)
/** Goes on until the file that the payload names is there. */
const meet = defineJob<string>('meet').task('only', async ({ payload }) => {
  while (!existsSync(payload)) await setTimeout(10)
})

const punctual = createPunctual({
  store: await openStoreUrl(store),
  jobs: code === 'new' ? [newReport, meet, fresh] : [oldReport, meet],
  name,
  concurrency: 1,
  claimLimit: 1,
  node: { heartbeat: 100, timeout: 2000, checkInterval: 100 },
  release: Number(release),
})
punctual.on('task.started', ({ id, job, task }) => say('started', { id, job, task, name }))
punctual.on('occurrence.completed', ({ id, job }) => say('completed', { id, job, name }))

process.once('SIGTERM', async () => {
  await punctual.close()
  say('closed', { name })
})

await punctual.start()
say('ready', { name })
