// Reads the arguments of `ctx.once` and `punctual.once`.
import { createHash } from 'node:crypto'
import { PunctualError, shown } from '../../errors.ts'
import type { InScope, OnceInTransactionOptions, OnceOptions } from '../../model/effect.ts'
import { checkKey, checkObject, checkOneOf, checkOptions } from '../../model/limits.ts'
import { encodePayload } from '../../model/payload.ts'
import { parseDuration } from '../../time/duration.ts'

const remoteNames = ['payload', 'wait', 'retention', 'check', 'onUnknown', 'timeout', 'tx']
const transactionNames = ['payload', 'wait', 'retention', 'tx']
const defaultWaitMs = 10_000

export interface ParsedOnce {
  readonly key: string
  readonly scope: string | null
  readonly fingerprint: string | null
  readonly waitMs: number
  readonly keepMs: number | null
  readonly timeoutMs: number | null
  readonly check: NonNullable<OnceOptions['check']> | null
  readonly repeats: boolean
  readonly isInTransaction: boolean
}

type Given = OnceOptions & Partial<Omit<OnceInTransactionOptions, 'tx'>> & { tx?: unknown } & InScope

/** @param own Further options that the caller allows. */
export function parseOnce(
  key: string,
  effect: unknown,
  given: unknown,
  { own, keepMs }: { readonly own: readonly string[]; readonly keepMs: number },
): ParsedOnce {
  const where = 'options of once'
  const options = (given ?? {}) as Given
  checkObject(options, where)
  checkOptions(options, [...(options.tx === true ? transactionNames : remoteNames), ...own], where)
  checkFunction(effect, 'effect')
  const { scope, payload, wait, retention, check, onUnknown = 'hold', timeout, tx } = options
  if (tx !== undefined && tx !== true && tx !== false)
    throw new PunctualError('option.invalid', `tx must be true or false; got ${shown(tx)}`, { field: 'tx' })
  if (check !== undefined) checkFunction(check, 'check')
  return {
    key: checkKey(key, 'key'),
    scope: scope === undefined ? null : checkKey(scope, 'scope'),
    fingerprint: payload === undefined ? null : fingerprintOf(payload),
    waitMs: wait === undefined ? defaultWaitMs : parseDuration(wait, 'wait'),
    keepMs: retention === 'forever' ? null : retention === undefined ? keepMs : parseDuration(retention, 'retention'),
    timeoutMs: timeout === undefined ? null : parseDuration(timeout, 'timeout', 1),
    check: check ?? null,
    repeats: checkOneOf(onUnknown, 'onUnknown', ['hold', 'repeat']) === 'repeat',
    isInTransaction: tx === true,
  }
}

/** Equal payloads have equal texts: the keys of objects are sorted. */
function fingerprintOf(payload: unknown): string {
  encodePayload(payload)
  const text = JSON.stringify(payload, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
  return createHash('sha256').update(text).digest('base64url')
}

function checkFunction(value: unknown, field: string): void {
  if (typeof value !== 'function')
    throw new PunctualError('option.invalid', `${field} must be a function; got ${shown(value)}`, { field })
}
