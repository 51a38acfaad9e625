import { createPunctual, defineJob, type EnqueueRequest, type Store } from '../../src/index.ts'
import { memory } from '../../src/store/memory/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import type { Contestant, Job, Queue } from '../harness/contestant.ts'
import type { Payload } from '../harness/payload.ts'
import { makeFile, removeFile } from './folder.ts'

const stores = {
  memory: () => memory(),
  'sqlite normal': (place: string) => sqlite(place),
  'sqlite full': (place: string) => sqlite(place, { durability: 'full' }),
} satisfies Record<string, (place: string) => Store>

/** Punctual as it comes: default options, full history. */
export function punctual(store: keyof typeof stores): Contestant {
  const isShared = store !== 'memory'
  return {
    name: `Punctual, ${store}`,
    home: new URL('contestants.ts', import.meta.url),
    isShared,
    packages: [],
    makePlace: async () => (isShared ? makeFile() : 'memory'),
    removePlace: async (place) => (isShared ? removeFile(place) : undefined),
    open: async (place) => open(stores[store](place)),
  }
}

function open(store: Store): Queue {
  let handler: (payload: Payload) => void = () => {}
  const job = defineJob<Payload>('bench').task('run', ({ payload }) => handler(payload))
  const punctual = createPunctual({ store, jobs: [job] })
  const request = ({ payload, dueAt }: Job): EnqueueRequest => ({
    job,
    payload,
    ...(dueAt !== undefined && { runAt: new Date(dueAt) }),
  })
  return {
    async enqueue({ payload }) {
      await punctual.enqueue(job, payload)
    },
    async enqueueMany(jobs) {
      await punctual.enqueue(jobs.map(request))
    },
    async work(given) {
      handler = given
      await punctual.start()
    },
    async isDrained() {
      const { pending, running, retrying } = await punctual.counts({ job })
      return pending + running + retrying === 0
    },
    close: () => punctual.close(),
  }
}
