import { Argument, type Command, Option } from 'commander'
import type { ListFilter } from '../../client/list-filter.ts'
import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import { withClient } from '../client.ts'
import { example, instantOption, jsonOption, keyOptions, storeOption, tenantOption } from '../options.ts'
import { print, printJson, printNote } from '../print.ts'

interface ReplayFlags {
  store: string
  json?: true
  reason: string
  task?: string[]
  request?: string
  job?: string
  state?: OccurrenceState[]
  key?: string
  idempotencyKey?: string
  entity?: string
  from?: string
  to?: string
  tenant?: string
}

export function addReplay(root: Command): void {
  const [key, idempotencyKey] = keyOptions('with this key', 'with this idempotency key')
  root
    .command('replay')
    .description('Run an ended occurrence again, as a new one linked to it; without an id, all that the filters find.')
    .addArgument(new Argument('[occurrence]', 'the id of the occurrence'))
    .addOption(storeOption())
    .addOption(new Option('--reason <text>', 'why; kept with the replay').makeOptionMandatory())
    .addOption(new Option('--task <names...>', 'only these tasks; what the others came to stands'))
    .addOption(new Option('--request <text>', 'said again under the same request, nothing more is created'))
    .addOption(new Option('--job <name>', 'instead of an id: those of this job'))
    .addOption(new Option('--state <states...>', 'in one of these states').choices(occurrenceStates))
    .addOption(key)
    .addOption(idempotencyKey)
    .addOption(new Option('--entity <id>', 'about this entity'))
    .addOption(instantOption('--from <instant>', 'first due at or after, such as 2026-11-15T06:00:00Z, or a day'))
    .addOption(instantOption('--to <instant>', 'first due before'))
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example(
        'punctual replay 01a1e133-38fc-71d6-a05c-514da9ff1aed --reason "the rates were wrong" --store sqlite:./punctual.db',
        'punctual replay --job invoice --state failed --from 2026-11-15 --reason "mail was down" --store sqlite:./punctual.db',
      ),
    )
    .action((id: string | undefined, flags: ReplayFlags, command: Command) => {
      const { store, json, reason, task, request, ...filter } = flags
      const hasFilter = Object.keys(filter).length > 0
      if ((id === undefined) !== hasFilter)
        command.error('error: name one occurrence by its id, or several by filters such as --job and --state')
      if (id === undefined && (task || request !== undefined))
        command.error('error: --task and --request go with the id of one occurrence')
      const options = { reason, ...(task && { tasks: task }), ...(request !== undefined && { request }) }
      return id === undefined ? replayAll(store, filter, reason, json) : replayOne(store, id, options, json)
    })
}

async function replayOne(store: string, id: string, options: { reason: string }, json: true | undefined): Promise<void> {
  const result = await withClient(store, (punctual) => punctual.replay(id, options))
  if (json) return printJson(result)
  print(`${result.outcome} ${result.id}`)
}

async function replayAll(store: string, filter: ListFilter, reason: string, json: true | undefined): Promise<void> {
  const result = await withClient(store, (punctual) => punctual.replayAll(filter, { reason }))
  if (json) return printJson(result)
  print(`${result.outcome} ${result.id}`)
  printNote(`A node works it off; punctual occurrences ${result.id} shows how far it is.`)
}
