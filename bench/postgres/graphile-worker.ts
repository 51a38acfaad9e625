import { Logger, makeWorkerUtils, type Runner, run, runMigrations, WorkerPreset, type WorkerUtils } from 'graphile-worker'
import type { Contestant, Job, Load, Queue } from '../harness/contestant.ts'
import { type Payload, payload } from '../harness/payload.ts'
import { inSlices } from '../harness/slices.ts'
import { onPostgres } from './contestant.ts'
import { onDatabase } from './database.ts'

const task = 'bench'
const defaultPollMs = 2000
/** More in a call is no faster. */
const mostInCall = 5000

const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message)
})

/**
 * Set up for throughput, found by trying: its page on performance suggests a local queue of 500, 24 jobs at once and no delay
 * of completions, which is half as fast here. It polls only for jobs that come due later.
 */
export function graphileWorker(pollInterval = defaultPollMs): Contestant {
  const presetFor = (connectionString: string): GraphileConfig.Preset => ({
    extends: [WorkerPreset],
    worker: {
      connectionString,
      logger,
      pollInterval,
      concurrentJobs: 100,
      maxPoolSize: 20,
      localQueue: { size: 5000 },
      completeJobBatchDelay: 5,
      failJobBatchDelay: 5,
    },
  })
  return onPostgres({
    name: pollInterval === defaultPollMs ? 'graphile-worker' : `graphile-worker, poll ${pollInterval} ms`,
    packages: ['graphile-worker'],
    install: (url) => runMigrations({ preset: presetFor(url) }),
    loadPlace: load,
    async open(url) {
      const preset = presetFor(url)
      return open(preset, await makeWorkerUtils({ preset }))
    },
  })
}

function open(preset: GraphileConfig.Preset, utils: WorkerUtils): Queue {
  let runner: Runner | null = null
  const spec = ({ payload, dueAt, key }: Job) => ({
    identifier: task,
    payload,
    ...(dueAt !== undefined && { runAt: new Date(dueAt) }),
    ...(key !== undefined && { queueName: key }),
  })
  return {
    async enqueue({ payload }) {
      await utils.addJob(task, payload)
    },
    async enqueueMany(jobs) {
      await inSlices(jobs, mostInCall, (slice) => utils.addJobs(slice.map(spec)))
    },
    async work(handler) {
      runner = await run({
        preset,
        noHandleSignals: true,
        taskList: { [task]: (payload) => handler(payload as Payload) },
        parsedCronItems: [],
      })
    },
    async isDrained() {
      // Those of the load have negative ids. The newest first, since what is done is deleted from the other end.
      const { rows } = await utils.withPgClient((client) =>
        client.query('SELECT id FROM graphile_worker._private_jobs WHERE id > 0 ORDER BY id DESC LIMIT 1'),
      )
      return rows.length === 0
    },
    async close() {
      await runner?.stop()
      await utils.release()
    },
  }
}

/** It deletes jobs that are done: there is no history to fill in. */
async function load(url: string, { future }: Load): Promise<void> {
  await onDatabase(url, async (client) => {
    await client.query('INSERT INTO graphile_worker._private_tasks (identifier) VALUES ($1)', [task])
    await client.query(
      `INSERT INTO graphile_worker._private_jobs (id, task_id, payload, run_at, created_at, updated_at)
         OVERRIDING SYSTEM VALUE
       SELECT -n, tasks.id, $2, now() + '30 days'::interval + random() * '1 day'::interval, now() - '1 day'::interval, now() - '1 day'::interval
       FROM generate_series(1, $1::int) AS n, graphile_worker._private_tasks AS tasks`,
      [future, JSON.stringify(payload(0))],
    )
  })
}
