import type { Command } from 'commander'
import type { PauseTarget } from '../client/pauses.ts'

export interface PauseTargetFlags {
  tenant?: string
  all?: true
}

/** What is paused or resumed: a job, a tenant, or everything (undefined), with its name for people. */
export function pauseTarget(
  job: string | undefined,
  { tenant, all }: PauseTargetFlags,
  command: Command,
): { target: PauseTarget | undefined; what: string } {
  const given = Number(job !== undefined || tenant !== undefined) + Number(all === true)
  if (given !== 1) command.error('error: name a job, or a tenant with --tenant, or say --all for everything')
  if (all) return { target: undefined, what: 'everything' }
  const within = tenant === undefined ? {} : { tenant }
  if (job === undefined) return { target: within, what: `tenant ${tenant}` }
  return { target: { job, ...within }, what: `job ${job}${tenant === undefined ? '' : ` of tenant ${tenant}`}` }
}
