import { Argument, type Command, Option } from 'commander'
import { defaultTenant } from '../../model/job.ts'
import { covers } from '../../model/pause.ts'
import { withClient } from '../client.ts'
import { example, jsonOption, storeOption } from '../options.ts'
import { type PauseTargetFlags, pauseTarget } from '../pause-target.ts'
import { print, printJson, printNote } from '../print.ts'

interface ResumeFlags extends PauseTargetFlags {
  store: string
  json?: true
}

export function addResume(root: Command): void {
  root
    .command('resume')
    .description('End the pause of a job, a tenant or everything. What waited for it runs.')
    .addArgument(new Argument('[job]', 'the name of the job'))
    .addOption(storeOption())
    .addOption(new Option('--tenant <name>', 'the tenant of the job; without a job, all of the tenant'))
    .addOption(new Option('--all', 'the pause of everything'))
    .addOption(jsonOption())
    .addHelpText('after', example('punctual resume report --store sqlite:./punctual.db'))
    .action(async (job: string | undefined, { store, json, tenant, all }: ResumeFlags, command: Command) => {
      const { target, what } = pauseTarget(job, { ...(tenant !== undefined && { tenant }), ...(all && { all }) }, command)
      await withClient(store, async (punctual) => {
        const outcome = await punctual.resume(target)
        if (json) return printJson({ outcome })
        print(outcome === 'resumed' ? `resumed ${what}` : `unchanged: ${what} was not paused by itself`)
        const pauses = await punctual.pauses()
        const wider =
          job === undefined
            ? undefined
            : pauses.find((pause) => pause.job === null && covers(pause, tenant ?? defaultTenant, job))
        if (wider) printNote(`It is still paused, since ${wider.tenant === null ? 'everything' : `tenant ${wider.tenant}`} is.`)
      })
    })
}
