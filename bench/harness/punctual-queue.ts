import { createPunctual, defineJob, type EnqueueRequest, type Store } from '../../src/index.ts'
import type { Job, Queue } from './contestant.ts'
import type { Payload } from './payload.ts'

/** Punctual as it comes: default options, full history. */
export function punctualQueue(store: Store): Queue {
  let handler: (payload: Payload) => void = () => {}
  const job = defineJob<Payload>('bench').task('run', ({ payload }) => handler(payload))
  const punctual = createPunctual({ store, jobs: [job] })
  const request = ({ payload, dueAt, key }: Job): EnqueueRequest => ({
    job,
    payload,
    ...(dueAt !== undefined && { runAt: new Date(dueAt) }),
    ...(key !== undefined && { concurrency: { key, limit: 1 } }),
  })
  return {
    async enqueue({ payload }) {
      await punctual.enqueue(job, payload)
    },
    async enqueueMany(jobs) {
      await punctual.enqueueMany(jobs.map(request))
    },
    async work(given) {
      handler = given
      await punctual.start()
    },
    async isDrained(resting) {
      const { pending, waiting, running, retrying } = await punctual.counts({ job })
      return pending + waiting + running + retrying === resting
    },
    async forget(count) {
      // A read opens the store.
      await punctual.counts({ job })
      const request = { endedBefore: Date.now() - 3_600_000, keyRetentionMs: 0, limit: 1000 }
      for (let left = count; left > 0; ) {
        const { pruned } = await store.prune(request)
        if (pruned === 0) throw new Error(`${left} of ${count} done jobs are not there to be deleted`)
        left -= pruned
      }
    },
    close: () => punctual.close(),
  }
}
