// Payloads and results cross the store as JSON text: written once, checked at the call that brings them.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type ErrorCode, PunctualError } from '../errors.ts'
import { errorRecord } from './error-record.ts'
import { limits } from './limits.ts'
import { isSealed, missingKey } from './sealed-text.ts'

/** Any schema library that speaks Standard Schema: zod, valibot, arktype and others. */
export type PayloadSchema<Input = unknown, Output = Input> = StandardSchemaV1<Input, Output>

/** The payload as JSON text, or null for none; refuses what JSON would drop or change. */
export function encodePayload(payload: unknown, field = 'payload'): string | null {
  return payload === undefined ? null : encode(payload, field, limits.payloadBytes, 'payload.invalid')
}

/** A task's result as JSON text, as `JSON.stringify` writes it; throws for what that cannot write, such as a bigint or a cycle. */
export function encodeResult(result: unknown): string | null {
  let text: string | undefined
  try {
    text = JSON.stringify(result)
  } catch (error) {
    const fault = unwritable(result, '', []) ?? { at: '', reason: errorRecord(error).message }
    throw new PunctualError('payload.invalid', `result${fault.at} cannot be written as JSON: ${fault.reason}`, {
      field: `result${fault.at}`,
      reason: fault.reason,
    })
  }
  return text === undefined ? null : bounded(text, 'result', limits.resultBytes)
}

export function decodePayload(text: string | null): unknown {
  if (text === null) return undefined
  if (isSealed(text)) throw missingKey(text)
  return JSON.parse(text)
}

/** Returns the schema's output for the payload. Throws `payload.rejected` with the schema's issues. */
export async function validatePayload(schema: PayloadSchema, payload: unknown, job: string): Promise<unknown> {
  return checkedPayload(schema, payload, job)
}

/** The same at once, unless the schema is asynchronous. */
export function checkedPayload(schema: PayloadSchema, payload: unknown, job: string): unknown {
  let verdict: Verdict | Promise<Verdict>
  try {
    const answer = schema['~standard'].validate(payload)
    verdict = isThenable(answer) ? Promise.resolve(answer).then(verdictOf) : verdictOf(answer)
  } catch (cause) {
    throw faultySchema(job, cause)
  }
  if (!(verdict instanceof Promise)) return accepted(verdict, job)
  return verdict.then(
    (found) => accepted(found, job),
    (cause) => {
      throw faultySchema(job, cause)
    },
  )
}

/** A schema's answer, read once: the answer is an object of somebody else and may be anything. */
type Verdict = { readonly value: unknown } | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path: readonly string[]
}

function verdictOf(answer: StandardSchemaV1.Result<unknown>): Verdict {
  if (answer.issues) {
    const issues = answer.issues.map(({ message, path }) => ({
      message: String(message),
      path: (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)),
    }))
    return { issues }
  }
  if ('value' in answer) return { value: answer.value }
  throw new TypeError('validate must return { value } or { issues }')
}

function accepted(verdict: Verdict, job: string): unknown {
  if ('value' in verdict) return verdict.value
  const { issues } = verdict
  const first = issues.map(({ message, path }) => `${['payload', ...path].join('.')}: ${message}`).join('; ')
  throw new PunctualError('payload.rejected', `The payload of job ${JSON.stringify(job)} was refused by its schema: ${first}`, {
    field: 'payload',
    job,
    issues,
  })
}

/** The text of the cause stays out of the message: it can hold parts of the payload. */
function faultySchema(job: string, cause: unknown): PunctualError {
  const message = `The schema of job ${JSON.stringify(job)} failed on the payload: validate threw an error, or returned neither { value } nor { issues }`
  return new PunctualError('payload.rejected', message, { field: 'payload', job }, { cause })
}

function isThenable(answer: object): answer is PromiseLike<StandardSchemaV1.Result<unknown>> {
  return typeof (answer as { then?: unknown }).then === 'function'
}

function encode(value: unknown, field: string, maxBytes: number, code: ErrorCode): string {
  const fault = readableFaultIn(value)
  if (fault) throw notJson(`${field}${fault.at}`, fault, code)
  return bounded(JSON.stringify(value), field, maxBytes)
}

function bounded(text: string, field: string, maxBytes: number): string {
  // No character has more than three bytes for each of its units.
  if (text.length * 3 <= maxBytes) return text
  const bytes = text.length > maxBytes ? text.length : Buffer.byteLength(text)
  if (bytes <= maxBytes) return text
  throw new PunctualError('payload.too-large', `${field} must be at most ${maxBytes} bytes of JSON; it has ${bytes}`, {
    field,
    bytes,
    max: maxBytes,
  })
}

/** The first place that `JSON.stringify` cannot write; null when there is none. */
function unwritable(value: unknown, key: string, above: readonly unknown[]): Fault | null {
  try {
    const json = hasToJson(value) ? value.toJSON(key) : value
    if (typeof json === 'bigint') return { at: '', reason: 'it is a bigint' }
    if (typeof json !== 'object' || json === null) return null
    if (above.includes(json)) return { at: '', reason: 'it holds itself' }
    for (const inner of Object.keys(json)) {
      const at = Array.isArray(json) ? `[${inner}]` : `.${inner}`
      const fault = unwritableAt(json, inner, [...above, json])
      if (fault) return { ...fault, at: `${at}${fault.at}` }
    }
    return null
  } catch (error) {
    return { at: '', reason: errorRecord(error).message }
  }
}

/** A getter may throw: the property is the place then. */
function unwritableAt(holder: object, key: string, above: readonly unknown[]): Fault | null {
  try {
    return unwritable((holder as Record<string, unknown>)[key], key, above)
  } catch (error) {
    return { at: '', reason: errorRecord(error).message }
  }
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof (value as { toJSON?: unknown } | null | undefined)?.toJSON === 'function'
}

/** A value that JSON would drop or change. */
interface Fault {
  /** Where in the value, such as `.lines[3]`. Written only when there is a fault: every payload is looked through. */
  readonly at: string
  readonly reason: string
  /** The name of a property that may not be there. */
  readonly property?: string
}

/** A getter or a proxy may throw where it is read. */
function readableFaultIn(value: unknown): Fault | null {
  try {
    return faultIn(value, 0)
  } catch (error) {
    return { at: '', reason: `it cannot be read: ${errorRecord(error).message}` }
  }
}

function faultIn(value: unknown, depth: number): Fault | null {
  const reason = jsonFault(value, depth)
  if (reason !== null) return { at: '', reason }
  if (typeof value !== 'object' || value === null) return null
  if (Array.isArray(value)) {
    // By number, since JSON would fill the holes with null.
    for (let i = 0; i < value.length; i++) {
      const fault = faultIn(value[i], depth + 1)
      if (fault) return { ...fault, at: `[${i}]${fault.at}` }
    }
    return null
  }
  for (const key of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[key]
    const keyReason = textFault(key)
    if (keyReason !== null) return { at: '', reason: keyReason }
    if (key === '__proto__' || (key === 'constructor' && holdsPrototype(inner))) return { at: '', reason: '', property: key }
    const fault = faultIn(inner, depth + 1)
    if (fault) return { ...fault, at: `.${key}${fault.at}` }
  }
  return null
}

function notJson(path: string, { reason, property }: Fault, code: ErrorCode): PunctualError {
  return property === undefined
    ? new PunctualError(code, `${path} is not plain JSON: ${reason}`, { field: path, reason })
    : new PunctualError(code, `${path} must not have a property named ${JSON.stringify(property)}`, { field: path, property })
}

function jsonFault(value: unknown, depth: number): string | null {
  if (depth > limits.jsonDepth) return `it is nested deeper than ${limits.jsonDepth} levels`
  switch (typeof value) {
    case 'string':
      return textFault(value)
    case 'number':
      return Number.isFinite(value) ? null : `${value} is not a JSON number`
    case 'boolean':
      return null
    case 'object':
      return value === null || Array.isArray(value) || isPlain(value)
        ? null
        : `it holds an instance of ${value.constructor?.name ?? 'a class'}`
    default:
      return `it holds ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}`
  }
}

function textFault(text: string): string | null {
  if (!text.isWellFormed()) return 'a text holds half of a surrogate pair'
  return text.includes('\u0000') ? 'a text holds a NUL character' : null
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function holdsPrototype(inner: unknown): boolean {
  return typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype')
}
