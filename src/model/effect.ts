import type { DurationInput } from '../time/duration.ts'

/** The arguments of an effect of `once` and of its `check`. */
export interface EffectContext {
  /** The same for every try of this effect: hand it to the remote system, so it drops duplicates. */
  readonly idempotencyKey: string
  /** Aborts at the timeout of the effect, and with the attempt that it belongs to, but not when the node is stopped. */
  readonly signal: AbortSignal
}

/** The finding of a `check`: the effect happened (with its result), it did not, or (null) that cannot be told yet. */
export type Checked<Value = unknown> = { readonly happened: true; readonly result?: Value } | { readonly happened: false } | null

/** The options of `once` that every kind of effect has. */
interface KeyedEffectOptions {
  /** A value that belongs to the key, such as the amount. The same key with another value is refused (`gate.conflict`). */
  payload?: unknown
  /** How long a call waits for another one that is in the middle of the same effect. Default 10 s; then `gate.busy`. */
  wait?: DurationInput
  /** How long the outcome is remembered. Default: `gateRetention` of the scheduler, 90 days. */
  retention?: DurationInput | 'forever'
}

/** The options of `once` for an effect elsewhere: an API, a mail, a file. */
export interface OnceOptions<Value = unknown> extends KeyedEffectOptions {
  /** Finds out whether an effect with an unknown outcome happened. Then no person is needed. */
  check?: (given: EffectContext) => Checked<Value> | Promise<Checked<Value>>
  /** Without `check`: `hold` (default) keeps the key for a person, `repeat` tries again under the same `idempotencyKey`. */
  onUnknown?: 'hold' | 'repeat'
  /** The effect is aborted after this long, and its outcome is unknown. Default: the rest of the attempt, 1 min outside of jobs. */
  timeout?: DurationInput
}

/** The options of `once` for an effect in the store's own database. */
export interface OnceInTransactionOptions extends KeyedEffectOptions {
  /** The effect is given a transaction, which commits its writes together with the key. Needs a store with the ability `tx`. */
  tx: true
}

/** With `scope`: keys are unique within it. Default: the occurrence, so each occurrence has its own keys. */
export interface InScope {
  scope?: string
}

/** An effect that happens once: see `ctx.once` and `punctual.once`. */
export type Effect<Value> = (given: EffectContext) => Value | Promise<Value>

/** The outcome cannot be known after an error of these: the request may have been carried out before the line broke. */
const unknownNames = ['AbortError', 'TimeoutError']
const unknownCodes = [
  'ABORT_ERR',
  'ECONNRESET',
  'EPIPE',
  'ESOCKETTIMEDOUT',
  'ETIMEDOUT',
  'UND_ERR_ABORTED',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_SOCKET',
]

/** Whether a throw leaves open whether the effect happened: an abort, a timeout, a broken line, or `outcome: 'unknown'`. */
export function isOutcomeUnknown(thrown: unknown, depth = 0): boolean {
  if (typeof thrown !== 'object' || thrown === null || depth > 5) return false
  try {
    const { outcome, name, code, cause, errors } = thrown as Readonly<Record<string, unknown>>
    if (outcome === 'unknown' || unknownNames.includes(String(name)) || unknownCodes.includes(String(code))) return true
    const within = Array.isArray(errors) ? [cause, ...errors] : [cause]
    return within.some((inner) => isOutcomeUnknown(inner, depth + 1))
  } catch {
    // An error that cannot be read says nothing about what happened.
    return true
  }
}
