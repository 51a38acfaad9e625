import { type Operation, type OperationName, operation } from '../../client/operation.ts'
import type { RemoteParts } from '../../http-client/remote.ts'
import { type Field, fieldsOf, kindFields } from './flags.ts'

/** The parts of a request from the values of flags and arguments, by the names of the fields. */
export function partsOf(name: OperationName, given: Readonly<Record<string, unknown>>): RemoteParts {
  const one = operation(name)
  const parts: Record<string, Record<string, unknown>> = { params: {}, query: {}, headers: {} }
  if (one.body) parts.body = {}
  for (const field of chosenFields(one, given)) {
    const value = fieldValue(field, given)
    if (value !== undefined) put(parts[field.part] as Record<string, unknown>, field.path, value)
  }
  return parts as RemoteParts
}

/** Of a body with kinds, the fields of the kind that was chosen. */
function chosenFields(one: Operation, given: Readonly<Record<string, unknown>>): readonly Field[] {
  const fields = fieldsOf(one)
  const kind = fields.find(({ name, part }) => name === 'kind' && part === 'body')
  if (!kind || !one.body) return fields
  const own = kindFields(one.body, String(given.kind))
  return [kind, ...fields.filter(({ part }) => part !== 'body'), ...own.filter(({ name }) => name !== 'kind')]
}

function fieldValue({ name, part }: Field, given: Readonly<Record<string, unknown>>): unknown {
  if (part === 'headers') return given.expectVersion === undefined ? undefined : `"${given.expectVersion}"`
  if (name !== 'schedule' || given.schedule === undefined) return given[name]
  if (given.schedule === 'none') return null
  return { text: given.schedule, ...(given.tz !== undefined && { timezone: given.tz }) }
}

function put(target: Record<string, unknown>, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    target[first] = value
    return
  }
  target[first] ??= {}
  put(target[first] as Record<string, unknown>, rest, value)
}
