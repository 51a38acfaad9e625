import type { JobSpec } from '../../src/model/job.ts'

/** A spec of a job that runs every minute. */
export function newSpec(over: Partial<JobSpec> = {}): JobSpec {
  return {
    definition: 'report',
    schedule: { kind: 'cron', text: '* * * * *', timezone: 'UTC' },
    payload: null,
    settings: {},
    defaults: {},
    tasks: [{ name: 'run' }],
    isEnabled: true,
    isRetired: false,
    ...over,
  }
}
