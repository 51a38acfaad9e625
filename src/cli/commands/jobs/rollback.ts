import { Argument, type Command } from 'commander'
import { example, whole } from '../../options.ts'
import { type ChangeFlags, change, changeOptions } from './change.ts'

export function addJobsRollback(jobs: Command): void {
  const command = jobs
    .command('rollback')
    .description('Make an older version of a job hold again, as a new one.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addArgument(new Argument('<version>', 'the version').argParser(whole(1, 1_000_000_000)))
  changeOptions(command)
    .addHelpText('after', example('punctual jobs rollback report 2 --store sqlite:./punctual.db'))
    .action(async (job: string, version: number, flags: ChangeFlags) => {
      await change(job, flags, (punctual, options) => punctual.rollback(job, version, options))
    })
}
