// `redact` hides values of a payload by their paths: in views, and as text in errors, log lines and progress. The payload stays whole.
import { PunctualError, shown } from '../errors.ts'
import { errorRecord } from './error-record.ts'
import { limits } from './limits.ts'

/** The text in the place of a hidden value. */
export const redactedMark = '[redacted]'

const mostPaths = 100
/** A shorter value is hidden in text only as a whole word. */
const distinctive = 4

/** Refuses a list with anything but paths such as `card.number` and `items.*.iban`. */
export function checkRedact(given: unknown, where: string): readonly string[] {
  const field = 'redact'
  if (!Array.isArray(given) || given.length === 0 || given.length > mostPaths)
    throw new PunctualError(
      'option.invalid',
      `redact of ${where} must be a list of 1 to ${mostPaths} paths; got ${shown(given)}`,
      {
        field,
        given: shown(given),
      },
    )
  return given.map((path: unknown, at) => {
    if (typeof path === 'string' && isPath(path)) return path
    throw new PunctualError(
      'option.invalid',
      `redact[${at}] of ${where} must be a path: names of fields with dots between them, * for every element, such as card.number or items.*.iban; got ${shown(path)}`,
      { field: `redact[${at}]`, given: shown(path) },
    )
  })
}

function isPath(path: string): boolean {
  const parts = path.split('.')
  return path.length <= limits.key && parts.length <= limits.jsonDepth && parts.every(isPart)
}

/** `*` stands alone; brackets and `$` belong to other notations, whose paths would hide nothing. */
function isPart(part: string): boolean {
  return part === '*' || (part !== '' && part === part.trim() && !/[*[\]$\p{Cc}]/u.test(part))
}

/** A copy of the value with the mark at each path. A path that leads nowhere changes nothing. */
export function redacted(value: unknown, paths: readonly string[]): unknown {
  return paths.reduce((rest, path) => changedAt(rest, path.split('.'), () => redactedMark), value)
}

/** The first path at which the value has the mark itself. */
export function markedPath(value: unknown, paths: readonly string[]): string | undefined {
  return paths.find((path) => valuesAt(value, path).includes(redactedMark))
}

function valuesAt(value: unknown, path: string): readonly unknown[] {
  const values: unknown[] = []
  changedAt(value, path.split('.'), (found) => values.push(found))
  return values
}

function changedAt(value: unknown, [head, ...rest]: readonly string[], change: (found: unknown) => unknown): unknown {
  if (value === undefined || value === null) return value
  if (head === undefined) return change(value)
  if (typeof value !== 'object') return value
  const inside = (name: string, part: unknown) => (head === '*' || head === name ? changedAt(part, rest, change) : part)
  if (Array.isArray(value)) return value.map((part, at) => inside(String(at), part))
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, inside(name, part)]))
}

/** Replaces the hidden values of one payload wherever their text turns up. */
export class Redactor {
  readonly #pattern: RegExp | null

  /** @param payloads The forms of the payload: as it was enqueued, and as the schema returned it. */
  constructor(paths: readonly string[], payloads: readonly unknown[]) {
    const found = payloads.flatMap((payload) => paths.flatMap((path) => valuesAt(payload, path)))
    const texts = [...new Set(found.flatMap(leafTexts))].sort((one, other) => other.length - one.length)
    this.#pattern = texts.length === 0 ? null : new RegExp(texts.map(textPattern).join('|'), 'gu')
  }

  text(text: string): string {
    return this.#pattern ? text.replace(this.#pattern, redactedMark) : text
  }

  /** A copy of any value, such as the fields of a log line, without the hidden values. */
  value(value: unknown): unknown {
    return this.#pattern ? this.#copy(value, []) : value
  }

  #copy(value: unknown, above: readonly object[]): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number' || typeof value === 'bigint') {
      const text = this.text(String(value))
      return text === String(value) ? value : text
    }
    if (typeof value !== 'object' || value === null) return value
    if (above.includes(value)) return '[circular]'
    if (value instanceof Error) return this.#copy(errorRecord(value), above)
    const inside = [...above, value]
    if ('toJSON' in value && typeof value.toJSON === 'function') return this.#copy(value.toJSON(), inside)
    if (Array.isArray(value)) return value.map((part) => this.#copy(part, inside))
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, this.#copy(part, inside)]))
  }
}

/** The texts of all strings and numbers in a value, also as JSON writes them. True, false and empty texts would hide too much. */
function leafTexts(value: unknown): readonly string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leafTexts)
  if (typeof value !== 'string' && typeof value !== 'number') return []
  const text = String(value).trim()
  return text === '' ? [] : [text, JSON.stringify(text).slice(1, -1)]
}

function textPattern(text: string): string {
  const literal = text.replace(/[\\^$.*+?()[\]{}|/-]/g, (sign) => (sign === '-' ? '\\x2d' : `\\${sign}`))
  return text.length >= distinctive ? literal : `(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`
}
