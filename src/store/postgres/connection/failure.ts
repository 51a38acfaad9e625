import { type ErrorCode, PunctualError } from '../../../errors.ts'
import { systemClock } from '../../../time/clock.ts'

/** Conflicts between transactions that the server ended for the sake of another: the same again will do. */
const conflicts = ['40001', '40P01']
/** Another transaction has held a lock for too long. */
const lockTimeout = '55P03'
// By SQLSTATE: the server goes down, comes up, is full, or has become a standby.
const awayClasses = ['08', '53', '57']
const readOnly = '25006'
/** The server has ended a transaction that stood open for too long, and the connection with it. */
const idleTooLong = ['25P03', '25P04']
/** The role or the database is refused: a person has to act, and then the same call works. */
const refused = ['3D000', '42501']
const refusedClass = '28'
const corrupt = ['XX001', 'XX002']
/** Statements have names on a connection, which a pooler in transaction mode gives to another at the next statement. */
const strangeNames = ['26000', '42P05']
const strangeParameter = /unsupported startup parameter/
const awaySystem = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
]
/** pg has no codes for what it notices by itself. */
const awayMessages =
  /connection (terminated|timeout|ended)|timeout exceeded when trying to connect|client (has encountered|was closed)|not queryable/i

export function isConflict(error: unknown): boolean {
  return conflicts.includes(codeOf(error))
}

/** A row was there already. */
export function isDuplicate(error: unknown): boolean {
  return codeOf(error) === '23505'
}

/** A condition of the transaction does not hold (`must` in schema/claim.ts). */
export const unmet = 'PN001'

export function isUnmet(error: unknown): boolean {
  return codeOf(error) === unmet
}

/** The transaction takes no more statements, since one of its has failed. */
export function isAborted(error: unknown): boolean {
  return codeOf(error) === '25P02'
}

function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === lockTimeout
}

/** The role lacks a right. */
export function isForbidden(error: unknown): boolean {
  return codeOf(error) === '42501'
}

/** The server takes no more connections. */
export function isFull(error: unknown): boolean {
  return codeOf(error) === '53300'
}

/** Whether the connection is of no more use: another one may lead to a server that works. */
export function isAway(error: unknown): boolean {
  if (error instanceof DeadlineError) return true
  const code = codeOf(error)
  // 57014 is a canceled statement: the connection is as good as before.
  if (code === '57014') return false
  return (
    code === readOnly ||
    idleTooLong.includes(code) ||
    awaySystem.includes(code) ||
    (/^[0-9A-Z]{5}$/.test(code) && awayClasses.includes(code.slice(0, 2))) ||
    (code === '' && awayMessages.test((error as Error | null)?.message ?? ''))
  )
}

/** A conflict that we have noticed ourselves, and that goes the way of those that the server does. */
export class ConflictError extends Error {
  readonly code = '40001'
}

/** A call that had no answer in time. Its outcome is unknown, and every verb may be repeated. */
class DeadlineError extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`)
  }
}

/** The engine's error for one of the server or the driver. Others stay as they are. */
export function storeFailure(error: unknown): unknown {
  if (error instanceof PunctualError) return error
  const message = messageOf(error)
  const code = codeOf(error)
  const details = { ...(code !== '' && { code }), ...(isLockTimeout(error) && { isHeld: true }) }
  const failure = (kind: ErrorCode, text: string) => new PunctualError(kind, text, details, { cause: error })
  if (strangeNames.includes(code) || strangeParameter.test(message))
    return failure(
      'store.unsupported',
      `PostgreSQL is behind a pooler in transaction mode: open the store with prepare: false (${message})`,
    )
  if (code === readOnly)
    return failure('store.unreachable', `PostgreSQL is a standby at the moment and takes no writes: ${message}`)
  if (refused.includes(code) || code.startsWith(refusedClass)) return failure('store.refused', `PostgreSQL refuses: ${message}`)
  if (isAway(error)) return failure('store.unreachable', `PostgreSQL cannot be reached: ${message}`)
  if (corrupt.includes(code)) return failure('store.corrupt', `PostgreSQL has found damage in its data: ${message}`)
  if (isConflict(error) || isLockTimeout(error) || code === '57014')
    return failure('store.busy', `PostgreSQL: others were in the way for too long: ${message}`)
  return error
}

/** Where a name has several addresses, the message of the whole is empty. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}

function codeOf(error: unknown): string {
  const { code } = (error instanceof PunctualError ? error.details : (error ?? {})) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Rejects when a call has no answer in time. The call itself goes on. */
export function withDeadline<Answer>(call: Promise<Answer>, ms: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.timer(ms, () => reject(new DeadlineError(ms)))
    call.then(resolve, reject).finally(cancel)
  })
}
