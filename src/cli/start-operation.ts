// Commands over many occurrences: the same filters, a dry run, and an operation that a node works off.
import { type Command, Option } from 'commander'
import type { ZodType } from 'zod'
import { operation } from '../client/operation.ts'
import { PunctualError } from '../errors.ts'
import type { WireOccurrenceFilter, WireOperationRequest } from '../http/wire.ts'
import { confirm } from './confirm.ts'
import { withConnection } from './connection.ts'
import { connectionFlags } from './connection-flags.ts'
import { type Field, kindFields, optionsOf } from './operation/flags.ts'
import { previewText } from './operation/form/occurrences.ts'
import { byOption, jsonOption, yesOption } from './options.ts'
import { print, printJson, printNote } from './print.ts'
import { watchOperation } from './progress.ts'

function filterFields(): readonly Field[] {
  const { body } = operation('operations.start')
  return kindFields(body as ZodType, 'retry').filter(({ path, name }) => path[0] === 'filter' && name !== 'source')
}

/** The flags of a filter of occurrences. */
export function filterOptions(without: readonly string[] = []): readonly Option[] {
  return filterFields()
    .filter(({ name }) => !without.includes(name))
    .flatMap((field) => optionsOf(field))
}

/** The flags of commands that act on one occurrence or on all that filters find. */
export function operationOptions(): readonly Option[] {
  return [
    new Option('--dry-run', 'with filters: only count what they find'),
    new Option('--wait', 'with filters: wait until it is done'),
    byOption(),
    yesOption(),
    jsonOption(),
  ]
}

/** The filter that the flags of a command make. */
export function filterFlags(command: Command): WireOccurrenceFilter {
  const names = ['tenant', 'job', 'state', 'key', 'idempotencyKey', 'entity', 'cause', 'from', 'to']
  const all = command.opts()
  return Object.fromEntries(names.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])))
}

/** Previews or starts an operation, and waits for its end where that is wanted. */
export async function startOperation(command: Command, body: WireOperationRequest): Promise<void> {
  const { json, dryRun, yes, wait } = command.opts<{ json?: true; dryRun?: true; yes?: true; wait?: true }>()
  await withConnection(connectionFlags(command), async (connection) => {
    const preview = dryRun || !yes ? await connection.call('operations.preview', { body }) : null
    if (dryRun && preview) return json ? printJson(preview) : print(previewText(preview))
    await confirm(`${body.kind}: ${preview?.acts}${preview?.capped ? ' or more' : ''} occurrences.`, yes)
    const { id } = await connection.call('operations.start', { body })
    if (!wait) {
      if (json) return printJson({ outcome: 'created', id })
      print(`created ${id}`)
      return printNote(`A node works it off; punctual operations show ${id} shows how far it is, punctual cancel ${id} ends it.`)
    }
    const ended = await watchOperation(connection, id)
    if (json) printJson(ended)
    else print(`${ended.state} ${id}${ended.message ? `: ${ended.message}` : ''}`)
    if (ended.state !== 'completed')
      throw new PunctualError('occurrence.conflict', `The operation ${id} ended as ${ended.state}`, { id, state: ended.state })
  })
}
