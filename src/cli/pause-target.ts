import type { Command } from 'commander'

export interface PauseTargetFlags {
  tenant?: string
  all?: true
}

/** The target of a pause or resume, in words: a job, a tenant, or everything. */
export function pauseTarget(job: string | undefined, { tenant, all }: PauseTargetFlags, command: Command): string {
  const given = Number(job !== undefined || tenant !== undefined) + Number(all === true)
  if (given !== 1) command.error('error: name a job, or a tenant with --tenant, or say --all for everything')
  if (all) return 'everything'
  if (job === undefined) return `tenant ${tenant}`
  return `job ${job}${tenant === undefined ? '' : ` of tenant ${tenant}`}`
}
