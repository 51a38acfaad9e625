import { Argument, type Command, Option } from 'commander'
import type { ListFilter } from '../../client/list-filter.ts'
import type { When } from '../../client/when.ts'
import { withClient } from '../client.ts'
import { example, jsonOption, storeOption, tenantOption, whenOptions, whole } from '../options.ts'
import { instant, keyText, print, printJson, table } from '../print.ts'

export function addDead(root: Command): void {
  const dead = root
    .command('dead')
    .description('List the work that failed for good and waits for a person, give it another chance, or end it.')
    .addHelpText(
      'after',
      example(
        'punctual dead --store sqlite:./punctual.db',
        'punctual dead retry 01a1e133-38fc-71d6-a05c-514da9ff1aed --store sqlite:./punctual.db',
      ),
    )
  addList(dead)
  addRetry(dead)
  addDiscard(dead)
}

function addList(dead: Command): void {
  dead
    .command('list', { isDefault: true })
    .description('List the dead occurrences, the newest first.')
    .addOption(storeOption())
    .addOption(tenantOption())
    .addOption(new Option('--job <name>', 'of this job'))
    .addOption(new Option('--limit <number>', 'how many').argParser(whole(1, 500)))
    .addOption(new Option('--cursor <text>', 'from the page before'))
    .addOption(jsonOption())
    .addHelpText('after', example('punctual dead list --job payment-timeout --store sqlite:./punctual.db'))
    .action(async ({ store, json, ...filter }: ListFilter & { store: string; json?: true }) => {
      const { items, cursor } = await withClient(store, (punctual) => punctual.list({ ...filter, state: 'dead' }))
      if (json) return printJson({ items, cursor })
      if (items.length === 0) return print('Nothing is dead.')
      const rows = items.map((item) => [
        item.job,
        keyText(item),
        instant(item.endedAt),
        item.id,
        item.error?.message.slice(0, 80) ?? '',
      ])
      print(table(['JOB', 'KEY', 'DIED', 'ID', 'ERROR'], rows))
      if (cursor !== null) print(`\nMore: --cursor ${cursor}`)
    })
}

function addRetry(dead: Command): void {
  const [delay, runAt] = whenOptions() as [Option, Option]
  dead
    .command('retry')
    .description('Give a dead occurrence another chance, with fresh retries. Its finished tasks are not repeated.')
    .addArgument(new Argument('<id>', 'the occurrence'))
    .addOption(storeOption())
    .addOption(delay)
    .addOption(runAt)
    .addOption(jsonOption())
    .addHelpText('after', example('punctual dead retry 01a1e133-38fc-71d6-a05c-514da9ff1aed --store sqlite:./punctual.db'))
    .action(async (id: string, { store, json, ...options }: When & { store: string; json?: true }) => {
      await withClient(store, (punctual) => punctual.retry(id, options))
      if (json) return printJson({ id, outcome: 'retrying' })
      print(`retrying ${id}`)
    })
}

function addDiscard(dead: Command): void {
  dead
    .command('discard')
    .description('End a dead occurrence as canceled.')
    .addArgument(new Argument('<id>', 'the occurrence'))
    .addOption(storeOption())
    .addOption(new Option('--reason <text>', 'kept with what was ended'))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example('punctual dead discard 01a1e133-38fc-71d6-a05c-514da9ff1aed --reason "paid by hand" --store sqlite:./punctual.db'),
    )
    .action(async (id: string, { store, json, ...options }: { store: string; json?: true; reason?: string }) => {
      await withClient(store, (punctual) => punctual.discard(id, options))
      if (json) return printJson({ id, outcome: 'canceled' })
      print(`discarded ${id}`)
    })
}
