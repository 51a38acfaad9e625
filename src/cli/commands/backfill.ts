import { Argument, type Command, Option } from 'commander'
import { backfillModes } from '../../client/backfills.ts'
import { byOption, example, instantOption, jsonOption, placeOptions, tenantOption, whole, yesOption } from '../options.ts'
import { startOperation } from '../start-operation.ts'

export function addBackfill(root: Command): void {
  const command = root
    .command('backfill')
    .description('Run the instants of a job in a range: those that are missing, that failed, or all again.')
    .addArgument(new Argument('<job>', 'the name of the job'))
  for (const option of placeOptions()) command.addOption(option)
  command
    .addOption(
      instantOption('--from <instant>', 'the first instant, such as 2026-11-15T00:00:00Z, or a day').makeOptionMandatory(),
    )
    .addOption(instantOption('--to <instant>', 'before this one').makeOptionMandatory())
    .addOption(new Option('--mode <which>', 'which instants; else missing').choices(backfillModes))
    .addOption(new Option('--concurrency <number>', 'how many run at once; else 1').argParser(whole(1, 1000)))
    .addOption(new Option('--dry-run', 'only show the instants that it would run'))
    .addOption(new Option('--wait', 'wait until it is done; on a terminal with a bar'))
    .addOption(tenantOption())
    .addOption(new Option('--reason <text>', 'kept in the audit'))
    .addOption(byOption())
    .addOption(yesOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example('punctual backfill report --from 2026-11-01 --to 2026-11-15 --dry-run --store sqlite:./punctual.db'),
    )
    .action(async (job: string) => {
      const { from, to, mode, concurrency, tenant, reason } = command.opts()
      const options = Object.entries({ mode, concurrency, tenant, reason }).filter(([, value]) => value !== undefined)
      await startOperation(command, { kind: 'backfill', job, from, to, ...Object.fromEntries(options) })
    })
}
