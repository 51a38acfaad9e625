import { Argument, type Command, Option } from 'commander'
import { confirm } from '../confirm.ts'
import { withConnection } from '../connection.ts'
import { connectionFlags } from '../connection-flags.ts'
import { byOption, example, instantOption, jsonOption, placeOptions, yesOption } from '../options.ts'
import { pauseTarget } from '../pause-target.ts'
import { print, printJson } from '../print.ts'

export function addPause(root: Command): void {
  const command = root
    .command('pause')
    .description('Pause a job, a tenant or everything. Scheduled instants are recorded as skipped; other work waits.')
    .addArgument(new Argument('[job]', 'the name of the job'))
  for (const option of placeOptions()) command.addOption(option)
  command
    .addOption(new Option('--tenant <name>', 'the tenant of the job; without a job, all of the tenant'))
    .addOption(new Option('--all', 'everything'))
    .addOption(new Option('--reason <text>', 'why; kept with the pause'))
    .addOption(new Option('--for <duration>', 'resume by itself after this long, such as 2h'))
    .addOption(instantOption('--until <instant>', 'resume by itself at this instant, such as 2026-11-15T06:00:00Z, or a day'))
    .addOption(byOption())
    .addOption(yesOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual pause report --for 2h --reason "the database is moved" --store sqlite:./punctual.db'))
    .action(async (job: string | undefined) => {
      const { json, yes, reason, until, for: span, tenant, all } = command.opts()
      const what = pauseTarget(job, { tenant, all }, command)
      const body = { ...(reason && { reason }), ...(until && { until }), ...(span && { for: span }) }
      const place = connectionFlags(command)
      if (job === undefined) await confirm(`Pause ${what}.`, yes)
      const { outcome } = await withConnection(place, (connection) =>
        job === undefined
          ? connection.call('pauses.open', { body: { ...body, ...(tenant !== undefined && { tenant }) } })
          : connection.call('jobs.pause', { params: { job }, query: { tenant }, body }),
      )
      if (json) return printJson({ outcome })
      print(outcome === 'paused' ? `paused ${what}` : `unchanged: ${what} was paused like this before`)
    })
}
