import Database from 'better-sqlite3'
import { better, defineQueue, defineWorker, JobStatus, type Queue as PlainQueue, type Worker } from 'plainjob'
import type { Contestant, Job, Queue } from '../harness/contestant.ts'
import { makeFile, removeFile } from './folder.ts'

const type = 'bench'
/** Its default is a second; at 5 ms it notices work sooner, and while there is work it does not wait at all. */
const pollIntervall = 5
const silent = { error: console.error, warn: console.error, info() {}, debug() {} }

/** plainjob as its manual shows it for Node.js: better-sqlite3, WAL, synchronous NORMAL; done jobs stay for seven days. */
export const plainjob: Contestant = {
  name: 'plainjob, sqlite normal',
  home: new URL('contestants.ts', import.meta.url),
  isShared: true,
  packages: ['plainjob', 'better-sqlite3'],
  makePlace: makeFile,
  removePlace: removeFile,
  open: async (place) => open(defineQueue({ connection: better(new Database(place)), logger: silent })),
}

function open(queue: PlainQueue): Queue {
  let worker: Worker | null = null
  const enqueue = ({ payload, dueAt }: Job): void => {
    queue.add(type, payload, dueAt === undefined ? {} : { delay: dueAt - Date.now() })
  }
  return {
    async enqueue(job) {
      enqueue(job)
    },
    async enqueueMany(jobs) {
      // Its bulk call takes one delay for all.
      if (jobs.every((job) => job.dueAt === jobs[0]?.dueAt)) {
        const dueAt = jobs[0]?.dueAt
        queue.addMany(
          type,
          jobs.map((job) => job.payload),
          dueAt === undefined ? {} : { delay: dueAt - Date.now() },
        )
      } else jobs.forEach(enqueue)
    },
    async work(handler) {
      worker = defineWorker(type, (job) => handler(JSON.parse(job.data)), { queue, pollIntervall, logger: silent })
      worker.start().catch((error: unknown) => {
        console.error(error)
        process.exit(1)
      })
    },
    async isDrained() {
      return queue.countJobs({ type, status: JobStatus.Pending }) + queue.countJobs({ type, status: JobStatus.Processing }) === 0
    },
    async close() {
      await worker?.stop()
      queue.close()
    },
  }
}
