import { Argument, type Command, Option } from 'commander'
import type { OverridableField } from '../../../client/job-commands.ts'
import { example } from '../../options.ts'
import { type ChangeFlags, change, changeOptions } from './change.ts'

export function addJobsReset(jobs: Command): void {
  const command = jobs
    .command('reset')
    .description('Take changes of a job back: what code declares holds again.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addOption(new Option('--fields <names...>', 'only these').choices(['schedule', 'payload', 'settings', 'enabled']))
  changeOptions(command)
    .addHelpText('after', example('punctual jobs reset report --fields schedule --store sqlite:./punctual.db'))
    .action(async (job: string, { fields, ...flags }: ChangeFlags & { fields?: OverridableField[] }) => {
      await change(job, flags, (punctual, options) => punctual.reset(job, { ...options, ...(fields && { fields }) }))
    })
}
