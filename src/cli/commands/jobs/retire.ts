import { Argument, type Command } from 'commander'
import { byOption, example, jsonOption, storeOption, tenantOption } from '../../options.ts'
import { type ChangeFlags, change } from './change.ts'

export function addJobsRetire(jobs: Command): void {
  jobs
    .command('retire')
    .description('End a job that nobody declares any more. Its history stays; declaring it again continues its versions.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addOption(storeOption())
    .addOption(tenantOption())
    .addOption(byOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual jobs retire report --store sqlite:./punctual.db'))
    .action(async (job: string, flags: ChangeFlags) => {
      await change(job, flags, (punctual, { tenant, by }) =>
        punctual.retire(job, { by, ...(tenant !== undefined && { tenant }) }),
      )
    })
}
