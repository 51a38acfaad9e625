import { Argument, type Command, Option } from 'commander'
import { withClient } from '../client.ts'
import { byOption, example, instantOption, jsonOption, storeOption } from '../options.ts'
import { type PauseTargetFlags, pauseTarget } from '../pause-target.ts'
import { personOf } from '../person.ts'
import { print, printJson } from '../print.ts'

interface PauseFlags extends PauseTargetFlags {
  store: string
  json?: true
  reason?: string
  until?: string
  for?: string
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
    .addOption(new Option('--for <duration>', 'resume by itself after this long, such as 2h'))
    .addOption(instantOption('--until <instant>', 'resume by itself at this instant, such as 2026-11-15T06:00:00Z, or a day'))
    .addOption(byOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual pause report --for 2h --reason "the database is moved" --store sqlite:./punctual.db'))
    .action(async (job: string | undefined, { store, json, tenant, all, by, ...options }: PauseFlags, command: Command) => {
      const { target, what } = pauseTarget(job, { ...(tenant !== undefined && { tenant }), ...(all && { all }) }, command)
      await withClient(store, async (punctual) => {
        const outcome = await punctual.pause(target, { ...options, by: personOf(by) })
        if (json) printJson({ outcome })
        else print(outcome === 'paused' ? `paused ${what}` : `unchanged: ${what} was paused like this before`)
      })
    })
}
