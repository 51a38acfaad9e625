import type { Command } from 'commander'
import { example } from '../options.ts'
import { addJobsDiff } from './jobs/diff.ts'
import { addJobsList } from './jobs/list.ts'
import { addJobsReset } from './jobs/reset.ts'
import { addJobsRetire } from './jobs/retire.ts'
import { addJobsRollback } from './jobs/rollback.ts'
import { addJobsShow } from './jobs/show.ts'
import { addJobsUpdate } from './jobs/update.ts'
import { addJobsVersions } from './jobs/versions.ts'

export function addJobs(root: Command): void {
  const jobs = root
    .command('jobs')
    .description('List the jobs, show one with its versions, and change it.')
    .addHelpText(
      'after',
      example('punctual jobs --store sqlite:./punctual.db', 'punctual jobs show report --store sqlite:./punctual.db'),
    )
  const commands = [
    addJobsList,
    addJobsShow,
    addJobsVersions,
    addJobsDiff,
    addJobsUpdate,
    addJobsReset,
    addJobsRollback,
    addJobsRetire,
  ]
  for (const add of commands) add(jobs)
}
