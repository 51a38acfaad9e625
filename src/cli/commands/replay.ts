import { Argument, type Command, Option } from 'commander'
import { withConnection } from '../connection.ts'
import { connectionFlags } from '../connection-flags.ts'
import { example, placeOptions } from '../options.ts'
import { print, printJson } from '../print.ts'
import { filterFlags, filterOptions, operationOptions, startOperation } from '../start-operation.ts'

export function addReplay(root: Command): void {
  const command = root
    .command('replay')
    .description('Run an ended occurrence again, as a new one linked to it; without an id, all that the filters find.')
    .addArgument(new Argument('[occurrence]', 'the id of the occurrence'))
  for (const option of placeOptions()) command.addOption(option)
  for (const option of filterOptions()) command.addOption(option)
  command
    .addOption(new Option('--reason <text>', 'why; kept with the replay').makeOptionMandatory())
    .addOption(new Option('--task <names...>', 'only these tasks; the results of the others are kept'))
    .addOption(new Option('--request <text>', 'sent again under the same request, nothing more is created'))
  for (const option of operationOptions()) command.addOption(option)
  command
    .addHelpText(
      'after',
      example(
        'punctual replay 01a1e133-38fc-71d6-a05c-514da9ff1aed --reason "the rates were wrong" --store sqlite:./punctual.db',
        'punctual replay --job invoice --state failed --from 2026-11-15 --reason "mail was down" --store sqlite:./punctual.db',
      ),
    )
    .action(async (id: string | undefined) => {
      const { reason, task, request, dryRun, json } = command.opts()
      const filter = filterFlags(command)
      if ((id === undefined) !== Object.keys(filter).length > 0)
        command.error('error: name one occurrence by its id, or several by filters such as --job and --state')
      if (id !== undefined && dryRun) command.error('error: --dry-run goes with filters')
      if (id === undefined && (task || request !== undefined))
        command.error('error: --task and --request go with the id of one occurrence')
      if (id === undefined) return startOperation(command, { kind: 'replay', filter, reason })
      const body = { reason, ...(task && { tasks: task }), ...(request !== undefined && { request }) }
      const result = await withConnection(connectionFlags(command), (connection) =>
        connection.call('occurrences.replay', { params: { id }, body }),
      )
      if (json) return printJson(result)
      print(`${result.outcome} ${result.id}`)
    })
}
