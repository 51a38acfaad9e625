import { Argument, type Command, Option } from 'commander'
import { defaultTenant } from '../../model/job.ts'
import { withClient } from '../client.ts'
import { byOption, example, jsonOption, storeOption } from '../options.ts'
import { type PauseTargetFlags, pauseTarget } from '../pause-target.ts'
import { personOf } from '../person.ts'
import { print, printJson, printNote } from '../print.ts'

interface PauseFlags extends PauseTargetFlags {
  store: string
  json?: true
  reason?: string
  until?: string
  by?: string
}

export function addPause(root: Command): void {
  root
    .command('pause')
    .description('Pause a job, a tenant or everything. Scheduled instants meanwhile are skipped, other work waits.')
    .addArgument(new Argument('[job]', 'the name of the job'))
    .addOption(storeOption())
    .addOption(new Option('--tenant <name>', 'the tenant of the job; without a job, all of the tenant'))
    .addOption(new Option('--all', 'everything'))
    .addOption(new Option('--reason <text>', 'kept with the pause'))
    .addOption(new Option('--until <when>', 'resume by itself: an instant, or a duration from now such as 2h'))
    .addOption(byOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example('punctual pause report --until 2h --reason "the database is moved" --store sqlite:./punctual.db'),
    )
    .action(async (job: string | undefined, { store, json, tenant, all, by, ...options }: PauseFlags, command: Command) => {
      const { target, what } = pauseTarget(job, { ...(tenant !== undefined && { tenant }), ...(all && { all }) }, command)
      await withClient(store, async (punctual) => {
        const outcome = await punctual.pause(target, { ...options, by: personOf(by) })
        if (json) printJson({ outcome })
        else print(outcome === 'paused' ? `paused ${what}` : `unchanged: ${what} was paused like this before`)
        const known = job === undefined || (await punctual.jobs({ name: job, tenant: tenant ?? defaultTenant })).length > 0
        if (!known) printNote(`There is no ${what} on this store yet; the pause holds for it once there is.`)
      })
    })
}
