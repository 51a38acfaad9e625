import { PunctualError } from '../../errors.ts'

/** Conflicts between transactions that the server ended for the sake of another: the same again will do. */
const conflicts = ['40001', '40P01']
/** Another transaction has held a lock for too long. */
const lockTimeout = '55P03'
// By SQLSTATE: the server goes down, comes up, is full, or has become a standby.
const awayClasses = ['08', '53', '57']
const readOnly = '25006'
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

export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === lockTimeout
}

/** Whether the connection is of no more use: another one may lead to a server that works. */
export function isAway(error: unknown): boolean {
  if (error instanceof DeadlineError) return true
  const code = codeOf(error)
  // 57014 is a statement that somebody canceled: the connection is as good as before.
  if (code === '57014') return false
  return (
    code === readOnly ||
    awaySystem.includes(code) ||
    (/^[0-9A-Z]{5}$/.test(code) && awayClasses.includes(code.slice(0, 2))) ||
    (code === '' && awayMessages.test((error as Error | null)?.message ?? ''))
  )
}

/** A call that had no answer in time. What it did is not known, and every verb may be said again. */
export class DeadlineError extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`)
  }
}

/** What an error of the server or the driver means to the engine. Others stay as they are. */
export function storeFailure(error: unknown): unknown {
  if (error instanceof PunctualError) return error
  const message = (error as Error | null)?.message ?? String(error)
  const code = codeOf(error)
  if (code === readOnly) return unreachable(`PostgreSQL is a standby at the moment and takes no writes: ${message}`, error, code)
  if (isAway(error)) return unreachable(`PostgreSQL cannot be reached: ${message}`, error, code)
  if (isConflict(error) || isLockTimeout(error) || code === '57014')
    return new PunctualError(
      'store.busy',
      `PostgreSQL: others were in the way for too long: ${message}`,
      { code },
      { cause: error },
    )
  return error
}

function unreachable(message: string, cause: unknown, code: string): PunctualError {
  return new PunctualError('store.unreachable', message, code === '' ? {} : { code }, { cause })
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}
