import { Argument, type Command, Option } from 'commander'
import type { CancelTarget } from '../../client/occurrence-target.ts'
import { PunctualError } from '../../errors.ts'
import { withClient } from '../client.ts'
import { example, jsonOption, keyOptions, storeOption, tenantOption } from '../options.ts'
import { print, printJson } from '../print.ts'

interface CancelFlags {
  store: string
  json?: true
  job?: string
  key?: string
  idempotencyKey?: string
  entity?: string
  tenant?: string
  reason?: string
}

export function addCancel(root: Command): void {
  const [key, idempotencyKey] = keyOptions('the one with this key', 'the one with this idempotency key')
  root
    .command('cancel')
    .description('Cancel pending work at once; running work is signaled.')
    .addArgument(new Argument('[id]', 'the occurrence'))
    .addOption(storeOption())
    .addOption(new Option('--job <name>', 'instead of an id: the job, with a key or --entity'))
    .addOption(key)
    .addOption(idempotencyKey)
    .addOption(new Option('--entity <id>', 'all that is about this entity').conflicts(['key', 'idempotencyKey']))
    .addOption(tenantOption())
    .addOption(new Option('--reason <text>', 'kept with what was canceled'))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example('punctual cancel --job payment-timeout --idempotency-key order-42 --store sqlite:./punctual.db'),
    )
    .action(async (id: string | undefined, { store, json, reason, ...flags }: CancelFlags, command: Command) => {
      const target =
        targetOf(id, flags) ??
        command.error('error: name the work by its id, by --job and --key or --idempotency-key, or by --job and --entity')
      const outcome = await withClient(store, (punctual) => punctual.cancel(target, reason === undefined ? {} : { reason }))
      if (outcome === 'unknown') throw new PunctualError('occurrence.unknown', 'There is no such work', { target })
      if (json) return printJson({ outcome })
      print(outcome)
    })
}

function targetOf(id: string | undefined, flags: Omit<CancelFlags, 'store'>): CancelTarget | null {
  const { job, key, idempotencyKey, entity, tenant } = flags
  const named = job ?? key ?? idempotencyKey ?? entity
  if (id !== undefined) return named === undefined ? id : null
  if (job === undefined) return null
  const within = { job, ...(tenant !== undefined && { tenant }) }
  if (key !== undefined) return { ...within, key }
  if (idempotencyKey !== undefined) return { ...within, idempotencyKey }
  return entity === undefined ? null : { ...within, entity }
}
