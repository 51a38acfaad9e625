import { Argument, type Command, Option } from 'commander'
import { confirm } from '../confirm.ts'
import { withConnection } from '../connection.ts'
import { connectionFlags } from '../connection-flags.ts'
import { example, placeOptions } from '../options.ts'
import { print, printJson } from '../print.ts'
import { filterFlags, filterOptions, operationOptions, startOperation } from '../start-operation.ts'

export function addCancel(root: Command): void {
  const command = root
    .command('cancel')
    .description(
      'Cancel pending work at once; running work is signaled. By id, by job and key or entity, or all that filters find.',
    )
    .addArgument(new Argument('[id]', 'the occurrence or operation'))
  for (const option of placeOptions()) command.addOption(option)
  for (const option of filterOptions()) command.addOption(option)
  command.addOption(new Option('--reason <text>', 'kept with what was canceled'))
  for (const option of operationOptions()) command.addOption(option)
  command
    .addHelpText(
      'after',
      example('punctual cancel --job payment-timeout --idempotency-key order-42 --store sqlite:./punctual.db'),
    )
    .action(async (id: string | undefined) => {
      const filter = filterFlags(command)
      const { job, tenant, key, idempotencyKey, entity, ...further } = filter
      const { reason, json, dryRun, yes } = command.opts()
      if (id !== undefined ? Object.keys(filter).length > 0 : job === undefined || Object.keys(filter).length === 1)
        command.error(
          'error: name the work by its id, by --job and --key or --idempotency-key, by --job and --entity, or by --job and further filters',
        )
      if ([key, idempotencyKey, entity].filter((one) => one !== undefined).length > 1)
        command.error('error: --key cannot be used with option --idempotency-key or --entity')
      const isMany = id === undefined && (Object.keys(further).length > 0 || (key ?? idempotencyKey ?? entity) === undefined)
      if (isMany) {
        if (reason === undefined) command.error("error: required option '--reason <text>' not specified")
        return startOperation(command, { kind: 'cancel', filter, reason })
      }
      if (dryRun) command.error('error: --dry-run goes with filters')
      if (entity !== undefined && !yes && process.stdin.isTTY) await confirm(`Cancel all work of ${job} about ${entity}.`, yes)
      const because = reason === undefined ? {} : { reason }
      const { outcome } = await withConnection(connectionFlags(command), (connection) =>
        id !== undefined
          ? connection.call('occurrences.cancel', { params: { id }, body: because })
          : connection.call('jobs.cancel', {
              params: { job },
              query: { tenant },
              body: { key, idempotencyKey, entity, ...because },
            }),
      )
      if (json) return printJson({ outcome })
      print(outcome)
    })
}
