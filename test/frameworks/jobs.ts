import { createPunctual, defineJob, type Store } from 'punctual'

export const remind = defineJob<{ order: number }>('remind', ({ payload }) => `reminded of ${payload.order}`)

export function createJobs(store: Store) {
  return createPunctual({ store, jobs: [remind] })
}
