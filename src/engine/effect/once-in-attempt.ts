import type { Effect } from '../../model/effect.ts'
import type { Attempt } from '../turn/attempt.ts'
import { once, onceWithin } from './once.ts'
import { parseOnce } from './once-options.ts'

/** `ctx.once`: the key is reserved under the claim of the attempt, and its scope is the occurrence unless given. */
export async function onceInAttempt(attempt: Attempt, given: string, effect: unknown, options: unknown): Promise<unknown> {
  const { turn, leftMs, signal } = attempt
  const { env, record, claim, member } = turn
  const parsed = parseOnce(given, effect, options, { own: ['scope'], keepMs: env.options.gateRetentionMs })
  const { key, scope, isInTransaction, ...rest } = parsed
  const request = {
    ...rest,
    gate: { tenant: record.tenant, scope: scope ?? record.id, key },
    occurrence: record.id,
    member: { claim, member },
    signal,
    redact: (text: string) => turn.redacted(text),
    // A handler that goes on after its timeout is written off by then.
    holdMs: leftMs + env.options.writeOffMs,
    // A node that was stopped for longer may be taken for gone.
    freshMs: env.options.beatMs,
  }
  if (isInTransaction) return onceWithin(env, request, effect as (tx: unknown) => unknown)
  return once(env, { ...request, effect: effect as Effect<unknown> })
}
