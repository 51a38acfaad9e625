// Payloads and results cross the store as JSON text: written once, checked at the call that brings them.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type ErrorCode, PunctualError } from '../errors.ts'
import { limits } from './limits.ts'

/** Any schema library that speaks Standard Schema: zod, valibot, arktype and others. */
export type PayloadSchema<Input = unknown, Output = Input> = StandardSchemaV1<Input, Output>

/** The payload as JSON text, or null for none; refuses what JSON would drop or change. */
export function encodePayload(payload: unknown, field = 'payload'): string | null {
  return payload === undefined ? null : encode(payload, field, limits.payloadBytes, 'payload.invalid')
}

/** A task's result as JSON text; what JSON cannot hold is the task's failure, not a surprise later. */
export function encodeResult(result: unknown): string | null {
  return result === undefined ? null : encode(result, 'result', limits.resultBytes, 'payload.invalid')
}

export function decodePayload(text: string | null): unknown {
  return text === null ? undefined : JSON.parse(text)
}

/** What the schema makes of the payload. Throws `payload.rejected` with the schema's issues. */
export async function validatePayload(schema: PayloadSchema, payload: unknown, job: string): Promise<unknown> {
  const answer = await schema['~standard'].validate(payload)
  if (!answer.issues) return answer.value
  const issues = answer.issues.map(({ message, path }) => ({
    message,
    path: (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)),
  }))
  const first = issues.map(({ message, path }) => `${['payload', ...path].join('.')}: ${message}`).join('; ')
  throw new PunctualError('payload.rejected', `The payload of job ${JSON.stringify(job)} was refused by its schema: ${first}`, {
    field: 'payload',
    job,
    issues,
  })
}

function encode(value: unknown, field: string, maxBytes: number, code: ErrorCode): string {
  checkJson(value, field, 0, code)
  const text = JSON.stringify(value)
  const bytes = text.length > maxBytes ? text.length : Buffer.byteLength(text)
  if (bytes <= maxBytes) return text
  throw new PunctualError('payload.too-large', `${field} must be at most ${maxBytes} bytes of JSON; it has ${bytes}`, {
    field,
    bytes,
    max: maxBytes,
  })
}

function checkJson(value: unknown, path: string, depth: number, code: ErrorCode): void {
  const fault = jsonFault(value, depth)
  if (fault) throw notJson(path, fault, code)
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    // By number, since JSON would fill the holes with null.
    for (let i = 0; i < value.length; i++) checkJson(value[i], `${path}[${i}]`, depth + 1, code)
    return
  }
  for (const [key, inner] of Object.entries(value)) {
    const keyFault = textFault(key)
    if (keyFault) throw notJson(path, keyFault, code)
    if (key === '__proto__' || (key === 'constructor' && holdsPrototype(inner))) {
      throw new PunctualError(code, `${path} must not have a property named ${JSON.stringify(key)}`, {
        field: path,
        property: key,
      })
    }
    checkJson(inner, `${path}.${key}`, depth + 1, code)
  }
}

function notJson(path: string, fault: string, code: ErrorCode): PunctualError {
  return new PunctualError(code, `${path} is not plain JSON: ${fault}`, { field: path, reason: fault })
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
