/** Every way in which Punctual refuses something, as `noun.state`. The list is closed: docs/reference/errors.md is tested against it. */
export const errorCodes = [
  'option.unknown',
  'option.invalid',
  'name.invalid',
  'key.invalid',
  'duration.invalid',
  'instant.invalid',
  'zone.invalid',
  'schedule.invalid',
  'schedule.never',
  'schedule.unknown',
  'payload.invalid',
  'payload.rejected',
  'payload.too-large',
  'codec.key-missing',
  'definition.duplicate',
  'definition.unknown',
  'task.duplicate',
  'task.unknown',
  'task.cycle',
  'handler.duplicate',
  'job.unknown',
  'job.conflict',
  'job.outdated',
  'node.unknown',
  'occurrence.unknown',
  'occurrence.conflict',
  'occurrence.failed',
  'occurrence.dead',
  'occurrence.canceled',
  'occurrence.skipped',
  'occurrence.missed',
  'result.timeout',
  'claim.lost',
  'gate.busy',
  'gate.conflict',
  'gate.held',
  'gate.lost',
  'gate.unknown',
  'transaction.unsupported',
  'transaction.invalid',
  'server.refused',
  'server.unreachable',
  'store.busy',
  'store.closed',
  'store.corrupt',
  'store.newer',
  'store.outdated',
  'store.refused',
  'store.unreachable',
  'store.unsupported',
  'broker.closed',
  'broker.invalid',
  'broker.refused',
  'broker.unreachable',
  'config.invalid',
  'punctual.closed',
  'punctual.stopped',
] as const

/** The code of a `PunctualError`. */
export type ErrorCode = (typeof errorCodes)[number]

/** Facts for the user: the field and the value given, the limits, positions. Always plain data. */
export type ErrorDetails = Readonly<Record<string, unknown>>

/** A refused value as messages show it: short, and never the cause of another error. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  return typeof value === 'object' && value !== null ? kindOf(value) : String(value)
}

function kindOf(value: object): string {
  try {
    return Array.isArray(value) ? 'an array' : value instanceof Date ? 'a Date' : 'an object'
  } catch {
    // A revoked proxy.
    return 'an object'
  }
}

/** The one error class of Punctual. `code` is for programs, `message` says what was given, what is allowed and what to do. */
export class PunctualError extends Error {
  override readonly name = 'PunctualError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
    this.details = details
  }
}
