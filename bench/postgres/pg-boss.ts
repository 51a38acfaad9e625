import { PgBoss } from 'pg-boss'
import type { Contestant, Load, Queue } from '../harness/contestant.ts'
import { type Payload, payload } from '../harness/payload.ts'
import { inSlices } from '../harness/slices.ts'
import { onPostgres } from './contestant.ts'
import { onDatabase } from './database.ts'

const name = 'bench'
/** More in a call is no faster. */
const mostInCall = 5000

/**
 * Set up for throughput, found by trying, with the shortest poll that it takes; done jobs stay for seven days. With `notify` a
 * worker learns of a job at once, but enqueuing is slower.
 */
export function pgBoss({ notify }: { notify: boolean }): Contestant {
  return onPostgres({
    name: notify ? 'pg-boss' : 'pg-boss, no notify',
    packages: ['pg-boss'],
    async install(url) {
      const boss = await start(url, notify)
      await boss.createQueue(name, { notify })
      await boss.stop()
    },
    loadPlace: load,
    open: async (url) => open(await start(url, notify)),
  })
}

async function start(connectionString: string, useListenNotify: boolean): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString, useListenNotify })
  boss.on('error', console.error)
  return boss.start()
}

function open(boss: PgBoss): Queue {
  return {
    async enqueue({ payload }) {
      await boss.send(name, payload)
    },
    async enqueueMany(jobs) {
      const inserts = jobs.map(({ payload, dueAt }) => ({
        data: payload,
        ...(dueAt !== undefined && { startAfter: new Date(dueAt) }),
      }))
      await inSlices(inserts, mostInCall, (slice) => boss.insert(name, [...slice]))
    },
    async work(handler) {
      const options = {
        localConcurrency: 4,
        batchSize: 500,
        burstWhenBatchFull: true,
        pollingIntervalSeconds: 0.5,
        notifyPollingIntervalSeconds: 0.5,
      }
      await boss.work<Payload>(name, options, async (jobs) => {
        for (const { data } of jobs) handler(data)
      })
    },
    async isDrained() {
      // This process counts the jobs that it has taken; each of several processes waits for its own.
      if (boss.getWipData().some(({ count }) => count > 0)) return false
      // Those of the load were created long ago, and the index has that before when they are due.
      const { rows } = await boss.getDb().executeSql(
        `SELECT FROM pgboss.job
         WHERE name = $1 AND state < 'active' AND NOT blocked AND priority = 0
           AND created_on > now() - '12 hours'::interval AND start_after <= now() LIMIT 1`,
        [name],
      )
      return rows.length === 0
    },
    close: () => boss.stop(),
  }
}

/** Ids in order make it quick; new ones come at random as ever. */
async function load(url: string, { future, history }: Load): Promise<void> {
  const data = JSON.stringify(payload(0))
  await onDatabase(url, async (client) => {
    await client.query(
      `INSERT INTO pgboss.job (id, name, data, policy, created_on, start_after, keep_until)
       SELECT id, $1, $3, 'standard', now() - '1 day'::interval, due, due + '14 days'::interval
       FROM (SELECT gen_random_uuid() AS id, now() + '30 days'::interval + random() * '1 day'::interval AS due
             FROM generate_series(1, $2::int) ORDER BY id) AS future`,
      [name, future, data],
    )
    await client.query(
      `INSERT INTO pgboss.job (id, name, data, policy, state, created_on, start_after, started_on, completed_on, keep_until)
       SELECT id, $1, $3, 'standard', 'completed', done, done, done, done, done + '14 days'::interval
       FROM (SELECT gen_random_uuid() AS id, now() - '1 day'::interval - random() * '1 day'::interval AS done
             FROM generate_series(1, $2::int) ORDER BY id) AS history`,
      [name, history, data],
    )
  })
}
