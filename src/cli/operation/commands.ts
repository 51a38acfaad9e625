// Commands from the table of operations: a new operation has its command at once.
import { Argument, Command, Option } from 'commander'
import { type OperationName, operation, operationNames } from '../../client/operation.ts'
import { confirm } from '../confirm.ts'
import { type Connection, withConnection } from '../connection.ts'
import { connectionFlags } from '../connection-flags.ts'
import { byOption, example, jsonOption, placeOptions, yesOption } from '../options.ts'
import { print, printJson } from '../print.ts'
import { printExport } from './export.ts'
import { argumentParser, type Field, fieldsOf, kebab, optionsOf } from './flags.ts'
import type { Form } from './form.ts'
import { formOf } from './forms.ts'
import { partsOf } from './input.ts'
import { itemTable, plainColumns, plainPage } from './show.ts'

/** They set cookies, which only browsers keep. */
export const withoutCommand: readonly OperationName[] = ['session.open', 'session.close']

/** The words of the command of an operation. */
export function commandWords(name: OperationName): string {
  const { command } = formOf(name)
  if (command !== undefined) return command
  const [group = '', verb = ''] = name.split('.')
  if (verb !== 'list' && verb !== 'get') return `${group} ${verb}`
  const isAlone = operationNames.filter((other) => other.startsWith(`${group}.`) && !withoutCommand.includes(other)).length === 1
  return isAlone ? group : `${group} ${verb === 'get' && group !== 'calendar' ? 'show' : verb}`
}

/** Whether the command line has a word. */
type IsGiven = (word: string) => boolean

/**
 * Adds the commands of all operations that are not there yet. Only the command that was called gets arguments and flags: to make them
 * from the schemas of all operations takes longer than most commands.
 */
export function addOperations(root: Command, isGiven: IsGiven): void {
  for (const name of operationNames) {
    if (withoutCommand.includes(name)) continue
    addWords(root, commandWords(name).split(' '), name, isGiven)
    const { top } = formOf(name)
    if (top !== undefined) addWords(root, [top], name, isGiven)
  }
}

function addWords(root: Command, [first = '', second]: readonly string[], name: OperationName, isGiven: IsGiven): void {
  if (second === undefined) {
    if (child(root, first)) return
    const command = isGiven(first) ? operationCommand(first, name, first) : bareCommand(first, name)
    root.addCommand(command.copyInheritedSettings(root))
    return
  }
  const group = child(root, first) ?? root.command(first).description(groupWords[first] ?? `${first}: see below.`)
  if (child(group, second)) return
  const isDefault = second === 'list' || (second === 'show' && !operationNames.some((one) => one === `${first}.list`))
  const isCalled = isGiven(first) && (isDefault || isGiven(second))
  const command = isCalled ? operationCommand(second, name, `${first} ${second}`) : bareCommand(second, name)
  group.addCommand(command.copyInheritedSettings(group), { isDefault })
  if (group.commands.length === 1) group.addHelpText('after', example(`punctual ${first} ${second} ${exampleOf(name)}`.trimEnd()))
}

function child(command: Command, name: string): Command | undefined {
  return command.commands.find((one) => one.name() === name)
}

const groupWords: Readonly<Record<string, string>> = {
  audit: 'Show who changed what and when, check it for tampering, and export it.',
  calendar: 'Runs by hour, past and to come.',
  dead: 'List the work that failed for good and waits for a person, give it another chance, or end it.',
  gate: 'List the keys of effects that happen once, and resolve those with an unknown outcome.',
  jobs: 'List the jobs, show one with its versions, change it and run it.',
  nodes: 'List the nodes that work on the store, and drain one.',
  occurrences: 'List occurrences, show one in full, and act on it.',
  operations: 'Backfills, replays and acts over many occurrences: preview, start, watch and abort them.',
  pauses: 'List the pauses, and pause a tenant or everything.',
  schedules: 'Show the coming instants of a schedule.',
  tokens: 'Create, list and revoke the tokens of the HTTP API.',
}

function exampleOf(name: OperationName): string {
  return `${formOf(name).example ?? ''} --store sqlite:./punctual.db`.trim()
}

/** A command that is not called: its name is taken, and its settings are known. */
function bareCommand(word: string, name: OperationName): Command {
  const command = new Command(word).description(`${operation(name).summary}.`)
  for (const option of placeOptions()) command.addOption(option)
  return command
}

/** One command: its arguments and flags come from the schemas of the operation. */
function operationCommand(word: string, name: OperationName, words: string): Command {
  const one = operation(name)
  const form = formOf(name)
  const fields = fieldsOf(one)
  const command = new Command(word).description(`${one.summary}.`)
  const named = argumentFields(fields, form)
  for (const { field, isOptional } of named) command.addArgument(argumentOf(field, isOptional))
  if (name === 'occurrences.list') command.addArgument(new Argument('[id]', 'instead of a list: this one in full'))
  const options = fields.filter((field) => !named.some((one) => one.field === field)).flatMap(flagsOf)
  for (const option of [...placeOptions(), ...options]) command.addOption(option)
  if (one.audited) command.addOption(byOption())
  if (one.dangerous) command.addOption(yesOption())
  if (name !== 'occurrences.export') command.addOption(jsonOption())
  const isPaged = fields.some((field) => field.name === 'cursor')
  if (isPaged) command.addOption(new Option('--all', 'all pages, not just one'))
  if (isList(name)) command.addOption(new Option('--ndjson', 'print one JSON object on each line'))
  command.addHelpText('after', example(`punctual ${words} ${exampleOf(name)}`))
  return command.action(async (...args: unknown[]) => {
    const given = { ...valuesOf(command, fields), ...argumentValues(named, args) }
    const [id] = name === 'occurrences.list' ? (args as [string | undefined]) : []
    if (id !== undefined) return runOperation(command, 'occurrences.get', { id })
    await runOperation(command, name, given)
  })
}

interface Named {
  readonly field: Field
  readonly isOptional: boolean
}

function argumentFields(fields: readonly Field[], form: Form): readonly Named[] {
  const find = (name: string) => fields.find((field) => field.name === name) as Field
  return [
    ...fields.filter(({ part }) => part === 'params').map((field) => ({ field, isOptional: false })),
    ...(form.arguments ?? []).map((name) => ({ field: find(name.replace('?', '')), isOptional: name.endsWith('?') })),
  ]
}

function argumentOf(field: Field, isOptional: boolean): Argument {
  const word = kebab(field.name)
  const [option] = optionsOf(field)
  const argument = new Argument(isOptional ? `[${word}]` : `<${word}>`, option?.description ?? '')
  if (option?.argChoices) return argument.choices(option.argChoices)
  const parse = argumentParser(field)
  return parse ? argument.argParser(parse) : argument
}

function flagsOf(field: Field): readonly Option[] {
  const options = optionsOf(field)
  return field.isRequired && field.schema.type !== 'boolean'
    ? options.map((option, at) => (at === 0 ? option.makeOptionMandatory() : option))
    : options
}

/** The values of flags that belong to fields, and the second flags of schedules and versions. */
function valuesOf(command: Command, fields: readonly Field[]): Record<string, unknown> {
  const names = [...fields.map(({ name }) => name), 'tz', 'expectVersion']
  const all = command.opts()
  return Object.fromEntries(names.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])))
}

function argumentValues(named: readonly Named[], args: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(
    named.flatMap(({ field }, at) => (args[at] === undefined ? [] : ([[field.name, args[at]]] as [string, unknown][]))),
  )
}

function isList(name: OperationName): boolean {
  return name !== 'jobs.diff' && name.endsWith('.list')
}

/** Calls the operation and prints its answer. */
async function runOperation(command: Command, name: OperationName, given: Readonly<Record<string, unknown>>): Promise<void> {
  const { json, ndjson, all, yes } = command.opts<{ json?: true; ndjson?: true; all?: true; yes?: true }>()
  const form = formOf(name)
  const refused = form.refuse?.(given)
  if (refused) command.error(`error: ${refused}`)
  const place = connectionFlags(command)
  const one = operation(name)
  if (one.dangerous) await confirm(`${one.summary}.`, yes)
  const parts = partsOf(name, given)
  await withConnection(place, async (connection) => {
    if (name === 'occurrences.export') return printExport(await connection.stream(name, parts))
    if (ndjson) return printLines(connection, name, parts, all)
    const answer = await answerOf(connection, name, parts, all)
    if (json) return printJson(answer)
    print(shown(form, answer, given))
  })
}

type Parts = ReturnType<typeof partsOf>
type Answer = Readonly<Record<string, unknown>> & { readonly items?: readonly object[]; readonly cursor?: string | null }

async function answerOf(connection: Connection, name: OperationName, parts: Parts, all: true | undefined): Promise<Answer> {
  if (!all || name === 'pauses.list') return (await connection.call(name, parts)) as Answer
  const items: object[] = []
  for await (const page of pages(connection, name, parts)) items.push(...(page.items ?? []))
  return { items, cursor: null }
}

async function* pages(connection: Connection, name: OperationName, parts: Parts): AsyncGenerator<Answer> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { ...parts.query, ...(cursor !== undefined && { cursor }) }
    const page = (await connection.call(name, { ...parts, query })) as Answer
    yield page
    cursor = page.cursor ?? null
  }
}

async function printLines(connection: Connection, name: OperationName, parts: Parts, all: true | undefined): Promise<void> {
  for await (const { items = [] } of pages(connection, name, parts)) {
    for (const item of items) print(JSON.stringify(item))
    if (!all) return
  }
}

function shown(form: Form, answer: Answer, given: Readonly<Record<string, unknown>>): string {
  if (form.show) return form.show(answer as never, given)
  const { items, cursor } = answer
  if (items) {
    if (items.length === 0) return form.none ?? 'There is nothing to list.'
    const plain = plainColumns(items)
    const text = itemTable(items, (form.columns as typeof plain | undefined) ?? plain)
    return cursor ? `${text}\n\nMore: --cursor ${cursor}` : text
  }
  return Object.keys(answer).length === 1 && typeof answer.outcome === 'string' ? answer.outcome : plainPage(answer)
}
