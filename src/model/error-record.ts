import { inspect, types } from 'node:util'
import { cut, storable } from './cut.ts'
import { limits } from './limits.ts'
import type { ErrorRecord } from './report.ts'

/** How many causes and aggregated errors are kept in all, and how much text of each. */
const mostNested = 20
const nestedText = 1024

/**
 * The record of anything thrown: bounded text, never the object. It throws for no value, however odd.
 * @param redact Hides values in each text before it is cut: half a value is one, too.
 */
export function errorRecord(thrown: unknown, redact: (text: string) => string = asIs): ErrorRecord {
  return recordOf(thrown, limits.errorText, { left: mostNested, redact })
}

const asIs = (text: string) => text

/** The message of anything thrown, for log lines. */
export function errorText(thrown: unknown): string {
  return errorRecord(thrown).message
}

/** The record without stacks, which name files of the server. */
export function withoutStack({ stack: _, cause, errors, ...rest }: ErrorRecord): ErrorRecord {
  return {
    ...rest,
    ...(cause && { cause: withoutStack(cause) }),
    ...(errors && { errors: errors.map(withoutStack) }),
  }
}

/** An error with the text of a record, for a `cause`. */
export function restoredError({ message, cause, errors, ...own }: ErrorRecord): Error {
  const error = new Error(message, cause && { cause: restoredError(cause) })
  return Object.assign(error, own, errors && { errors: errors.map(restoredError) })
}

interface Recording {
  /** How many nested errors may still be recorded. */
  left: number
  readonly redact: (text: string) => string
}

function recordOf(thrown: unknown, max: number, nested: Recording): ErrorRecord {
  const clip = (text: string, most: number) => cut(nested.redact(storable(text)), most)
  if (!isError(thrown)) return { message: clip(textOf(thrown), max) }
  const [message, name, code, stack] = ['message', 'name', 'code', 'stack'].map((key) => read(thrown, key))
  const kept = (value: unknown) => recordOf(value, nestedText, nested)
  const cause = read(thrown, 'cause')
  const errors = read(thrown, 'errors')
  return {
    message: clip(message === undefined ? '' : textOf(message), max),
    ...(name !== 'Error' && name !== undefined && { name: clip(textOf(name), 100) }),
    ...(typeof code === 'string' && { code: clip(code, 100) }),
    ...(typeof stack === 'string' && { stack: clip(stack, max) }),
    ...(cause !== undefined && nested.left-- > 0 && { cause: kept(cause) }),
    ...(isList(errors) && { errors: errors.filter(() => nested.left-- > 0).map(kept) }),
  }
}

/** Also an error of another realm, such as one of `node:vm` or of a test runner. */
function isError(thrown: unknown): thrown is object {
  if (typeof thrown !== 'object' || thrown === null) return false
  if (types.isNativeError(thrown)) return true
  try {
    return thrown instanceof Error || (typeof read(thrown, 'stack') === 'string' && typeof read(thrown, 'message') === 'string')
  } catch {
    return false
  }
}

function isList(value: unknown): value is readonly unknown[] {
  return !types.isProxy(value) && Array.isArray(value)
}

function read(thrown: object, key: string): unknown {
  try {
    return (thrown as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return typeof value === 'object' ? JSON.stringify(value) : String(value)
  } catch {
    return inspected(value)
  }
}

function inspected(value: unknown): string {
  try {
    return inspect(value, { customInspect: false, depth: 2, breakLength: Number.POSITIVE_INFINITY })
  } catch {
    return 'A value that cannot be shown as text'
  }
}
