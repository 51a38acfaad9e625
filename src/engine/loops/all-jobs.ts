import type { JobRecord } from '../../model/job.ts'
import type { Store } from '../../store/store.ts'

const pageSize = 500

/** Every job of the store, a page at a time. */
export async function* allJobs(store: Store): AsyncGenerator<JobRecord, void, undefined> {
  for (let after: JobRecord | undefined; ; ) {
    const jobs = await store.readJobs({ limit: pageSize, ...(after && { after }) })
    yield* jobs
    after = jobs.at(-1)
    if (jobs.length < pageSize) return
  }
}
