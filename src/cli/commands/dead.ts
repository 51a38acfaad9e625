import { Argument, type Command, Option } from 'commander'
import { confirm } from '../confirm.ts'
import { withConnection } from '../connection.ts'
import { connectionFlags } from '../connection-flags.ts'
import { occurrenceColumns } from '../operation/form/occurrences.ts'
import { itemTable } from '../operation/show.ts'
import {
  byOption,
  example,
  jsonOption,
  json as jsonText,
  placeOptions,
  tenantOption,
  whenOptions,
  whole,
  yesOption,
} from '../options.ts'
import { print, printJson } from '../print.ts'
import { filterFlags, filterOptions, startOperation } from '../start-operation.ts'

const store = '--store sqlite:./punctual.db'
const anId = '01a1e133-38fc-71d6-a05c-514da9ff1aed'

/** The group `dead groups` comes from the table of operations. */
export function addDead(root: Command): void {
  const dead = root
    .command('dead')
    .description('List the work that failed for good and waits for a person, give it another chance, or end it.')
    .addHelpText(
      'after',
      example(`punctual dead ${store}`, `punctual dead groups ${store}`, `punctual dead retry ${anId} ${store}`),
    )
  addList(dead)
  addRetry(dead)
  addDiscard(dead)
}

function addList(dead: Command): void {
  const command = dead.command('list', { isDefault: true }).description('List the dead occurrences, the newest first.')
  for (const option of placeOptions()) command.addOption(option)
  command
    .addOption(tenantOption())
    .addOption(new Option('--job <name>', 'of this job'))
    .addOption(new Option('--cause <text>', 'of this cause, as groups prints it'))
    .addOption(new Option('--limit <number>', 'how many').argParser(whole(1, 500)))
    .addOption(new Option('--cursor <text>', 'from the page before'))
    .addOption(jsonOption())
    .addOption(new Option('--ndjson', 'print one JSON object on each line'))
    .addHelpText('after', example(`punctual dead list --job payment-timeout ${store}`))
    .action(async () => {
      const { tenant, job, cause, limit, cursor: place, json, ndjson } = command.opts()
      const query = { tenant, job, cause, limit, cursor: place, state: ['dead' as const] }
      const { items, cursor } = await withConnection(connectionFlags(command), (connection) =>
        connection.call('occurrences.list', { query }),
      )
      if (json) return printJson({ items, cursor })
      if (ndjson) return items.forEach((item) => void print(JSON.stringify(item)))
      if (items.length === 0) return print('Nothing is dead.')
      const of = (title: string) => occurrenceColumns.filter(([name]) => name === title)
      print(itemTable(items, [...of('JOB'), ...of('KEY'), ['DIED', 'endedAt'], ...of('ID'), ...of('ERROR')]))
      if (cursor !== null) print(`\nMore: --cursor ${cursor}`)
    })
}

/** The flags of acts on one dead letter, or on many. */
function addMany(dead: Command, name: string, description: string): Command {
  const command = dead
    .command(name)
    .description(`${description} By id, or all that filters find.`)
    .addArgument(new Argument('[id]', 'the occurrence'))
  for (const option of [...placeOptions(), ...filterOptions(['state'])]) command.addOption(option)
  return command
    .addOption(new Option('--all', 'everything that is dead'))
    .addOption(new Option('--dry-run', 'with filters: only count what they find'))
    .addOption(new Option('--wait', 'with filters: wait until it is done'))
    .addOption(new Option('--reason <text>', 'kept in the audit'))
    .addOption(byOption())
    .addOption(yesOption())
    .addOption(jsonOption())
}

function addRetry(dead: Command): void {
  const [delay, runAt] = whenOptions() as [Option, Option]
  const command = addMany(dead, 'retry', 'Give dead work another chance.')
    .addOption(delay)
    .addOption(runAt)
    .addOption(new Option('--payload <json>', 'run it with this payload instead').argParser(jsonText))
    .addOption(new Option('--spread <duration>', 'with filters: spread the retries over this long, such as 10m'))
    .addHelpText(
      'after',
      example(`punctual dead retry ${anId} --delay 10m ${store}`, `punctual dead retry --job report --spread 10m ${store}`),
    )
  command.action(async (id: string | undefined) => {
    const { delay, runAt, payload, spread, reason, json } = command.opts()
    checkTarget(command, id)
    const because = reason === undefined ? {} : { reason }
    if (id === undefined) {
      if (delay !== undefined || runAt !== undefined || payload !== undefined)
        command.error('error: --delay, --run-at and --payload go with the id of one occurrence')
      const spreading = spread === undefined ? {} : { spread }
      const filter = filterFlags(command)
      return startOperation(command, { kind: 'retry', filter, reason: reason ?? 'retried by command', ...spreading })
    }
    if (spread !== undefined) command.error('error: --spread goes with filters')
    const when = { ...(delay !== undefined && { delay }), ...(runAt !== undefined && { runAt }) }
    const body = { ...when, ...because, ...(payload !== undefined && { payload }) }
    await withConnection(connectionFlags(command), (connection) => connection.call('occurrences.retry', { params: { id }, body }))
    if (json) return printJson({ id, outcome: 'retrying' })
    print(`retrying ${id}`)
  })
}

function addDiscard(dead: Command): void {
  const command = addMany(dead, 'discard', 'End dead work as canceled.').addHelpText(
    'after',
    example(
      `punctual dead discard ${anId} --reason "paid by hand" ${store}`,
      `punctual dead discard --job report --dry-run ${store}`,
    ),
  )
  command.action(async (id: string | undefined) => {
    const { reason, json, yes } = command.opts()
    checkTarget(command, id)
    if (id === undefined) {
      const filter = filterFlags(command)
      return startOperation(command, { kind: 'discard', filter, reason: reason ?? 'discarded by command' })
    }
    const place = connectionFlags(command)
    await confirm(`End ${id} as canceled.`, yes)
    const body = reason === undefined ? {} : { reason }
    await withConnection(place, (connection) => connection.call('occurrences.discard', { params: { id }, body }))
    if (json) return printJson({ id, outcome: 'canceled' })
    print(`discarded ${id}`)
  })
}

function checkTarget(command: Command, id: string | undefined): void {
  const { all, dryRun } = command.opts()
  const hasFilter = Object.keys(filterFlags(command)).length > 0 || all === true
  if ((id === undefined) !== hasFilter)
    command.error('error: name one occurrence by its id, several by filters such as --job and --cause, or all with --all')
  if (id !== undefined && dryRun) command.error('error: --dry-run goes with filters')
}
