import { Argument, type Command, Option } from 'commander'
import type { ListFilter } from '../../client/list-filter.ts'
import type { Occurrence } from '../../client/occurrence-view.ts'
import { PunctualError } from '../../errors.ts'
import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import { withClient } from '../client.ts'
import { example, instantOption, jsonOption, keyOptions, storeOption, tenantOption, whole } from '../options.ts'
import { bold, facts, instant, keyText, print, printJson, table } from '../print.ts'

interface OccurrencesOptions {
  store: string
  json?: true
  tenant?: string
  job?: string
  state?: OccurrenceState[]
  key?: string
  idempotencyKey?: string
  entity?: string
  from?: string
  to?: string
  limit?: number
  cursor?: string
}

export function addOccurrences(root: Command): void {
  const [key, idempotencyKey] = keyOptions('with this key', 'with this idempotency key')
  root
    .command('occurrences')
    .description('List occurrences, the newest first; with an id, tell all about one.')
    .addArgument(new Argument('[id]', 'the occurrence to tell about'))
    .addOption(storeOption())
    .addOption(tenantOption())
    .addOption(new Option('--job <name>', 'of this job'))
    .addOption(new Option('--state <states...>', 'in one of these states').choices(occurrenceStates))
    .addOption(key)
    .addOption(idempotencyKey)
    .addOption(new Option('--entity <id>', 'about this entity'))
    .addOption(instantOption('--from <instant>', 'first due at or after, such as 2026-11-15T06:00:00Z, or a day'))
    .addOption(instantOption('--to <instant>', 'first due before'))
    .addOption(new Option('--limit <number>', 'how many').argParser(whole(1, 500)))
    .addOption(new Option('--cursor <text>', 'from the page before'))
    .addOption(jsonOption())
    .addHelpText('after', example('punctual occurrences --store sqlite:./punctual.db --state failed dead --limit 20'))
    .action((id: string | undefined, { store, json, ...filter }: OccurrencesOptions) =>
      id === undefined ? list(store, filter, json) : show(store, id, json),
    )
}

async function list(store: string, filter: ListFilter, json: true | undefined): Promise<void> {
  const { items, cursor } = await withClient(store, (punctual) => punctual.list(filter))
  if (json) return printJson({ items, cursor })
  const rows = items.map((item) => [
    item.state,
    item.job,
    keyText(item),
    item.source,
    instant(item.dueAt),
    String(item.turn),
    item.id,
    item.error?.message.slice(0, 80) ?? '',
  ])
  print(table(['STATE', 'JOB', 'KEY', 'SOURCE', 'DUE', 'TURN', 'ID', 'ERROR'], rows))
  if (cursor !== null) print(`\nMore: --cursor ${cursor}`)
}

async function show(store: string, id: string, json: true | undefined): Promise<void> {
  const occurrence = await withClient(store, (punctual) => punctual.get(id))
  if (!occurrence) throw new PunctualError('occurrence.unknown', `There is no occurrence ${JSON.stringify(id)}`, { id })
  if (json) return printJson(occurrence)
  print(detail(occurrence))
}

function detail(occurrence: Occurrence): string {
  const { id, job, state, source, dueAt, startedAt, endedAt, payload, result, error, reason, tasks } = occurrence
  const attempts = tasks.flatMap((task) =>
    task.attempts.length === 0
      ? [[task.name, task.state, '', '', '']]
      : task.attempts.map((attempt) => [
          task.name,
          attempt.state,
          String(attempt.n),
          instant(attempt.startedAt),
          attempt.error?.message.slice(0, 80) ?? '',
        ]),
  )
  return [
    bold(id),
    facts([
      ['job', job],
      ['state', reason === null ? state : `${state} (${reason})`],
      ['waits', waitText(occurrence)],
      ['source', source],
      ['repeats', occurrence.replay ? `${occurrence.replay.origin}: ${occurrence.replay.reason}` : ''],
      ['covers', spanText(occurrence)],
      ['key', occurrence.key ?? ''],
      ['idempotency key', occurrence.idempotencyKey ?? ''],
      ['due', instant(dueAt)],
      ['started', instant(startedAt)],
      ['ended', instant(endedAt)],
      ['progress', progressText(occurrence)],
      ['payload', JSON.stringify(payload) ?? ''],
      ['result', JSON.stringify(result) ?? ''],
      ['error', error?.message ?? ''],
    ]),
    '',
    table(['TASK', 'STATE', 'ATTEMPT', 'STARTED', 'ERROR'], attempts),
  ].join('\n')
}

function waitText({ wait }: Occurrence): string {
  if (!wait) return ''
  const { reason, until, blockers } = wait
  return `for ${reason}${until ? ` until ${instant(until)}` : ''}${blockers.length > 0 ? ` held by ${blockers.join(', ')}` : ''}`
}

function spanText({ span }: Occurrence): string {
  return span ? `${span.count} instants from ${instant(span.from)} to ${instant(span.to)}` : ''
}

function progressText({ progress }: Occurrence): string {
  if (!progress) return ''
  return `${Math.round(progress.done * 100)} %${progress.message ? `, ${progress.message}` : ''} (${progress.task})`
}
