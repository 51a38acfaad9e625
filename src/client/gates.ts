// Effects outside of jobs, and the keys of all effects as a person sees them.
import { once, onceWithin, type RemoteEffect } from '../engine/effect/once.ts'
import { parseOnce } from '../engine/effect/once-options.ts'
import { PunctualError } from '../errors.ts'
import type { Effect, OnceInTransactionOptions, OnceOptions } from '../model/effect.ts'
import { checkKey, checkName, checkObject, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import { decodePayload, encodeResult } from '../model/payload.ts'
import { isSealed, missingKey } from '../model/sealed-text.ts'
import { type GateState, gateStates } from '../store/messages/gate.ts'
import type { Page } from '../store/query.ts'
import type { GateKey, GateRecord } from '../store/store.ts'
import { auditNote, type By, byNames } from './audit-note.ts'
import type { ClientEnv } from './client-env.ts'
import { tenantOf } from './occurrence-target.ts'

const defaultTimeoutMs = 60_000

/** The options of `punctual.once`. */
export type OnceCallOptions<Value = unknown> = OnceOptions<Value> & { tenant?: string }
/** The same for an effect in the store's own database. */
export type OnceCallInTransactionOptions = OnceInTransactionOptions & { tenant?: string }

/** The key of an effect. */
export interface GateTarget {
  tenant?: string
  /** For `ctx.once` without a scope: the id of the occurrence. */
  scope: string
  key: string
}

/** Which keys to list. */
export interface GateFilter {
  tenant?: string
  scope?: string
  key?: string
  state?: GateState
  /** Default 50, at most 500. */
  limit?: number
  /** From the page before. */
  cursor?: string
}

/** A person's finding about an effect whose outcome is unknown. */
export interface GateResolution extends By {
  /** Whether the effect happened. If not, the key is free and the effect is performed at the next try. */
  happened: boolean
  /** The outcome that later calls get, where it happened. */
  result?: unknown
}

/** The key of an effect, with its state and outcome. */
export interface GateView extends GateKey {
  readonly state: GateState
  /** The occurrence that reserved the key last; null outside of jobs. */
  readonly occurrence: string | null
  readonly reservedAt: Date
  /** When the outcome was recorded, or reported as unknown. */
  readonly endedAt: Date | null
  /** When a recorded outcome is forgotten; null: never. */
  readonly expiresAt: Date | null
  readonly result: unknown
  /** Why the outcome is unknown, or why this process cannot read it. */
  readonly reason: string | null
  /** How often the effect was tried. */
  readonly tries: number
  /** How many duplicates got the recorded outcome. */
  readonly hits: number
}

export class Gates {
  readonly #env: ClientEnv

  constructor(env: ClientEnv) {
    this.#env = env
  }

  async once<Value>(
    scope: string,
    given: string,
    effect: Effect<Value> | ((tx: never) => Value | Promise<Value>),
    options: OnceCallOptions<Value> | OnceCallInTransactionOptions = {},
  ): Promise<Value> {
    const env = this.#env
    const parsed = parseOnce(given, effect, options, { own: ['tenant'], keepMs: env.options.gateRetentionMs })
    const { key, scope: _, isInTransaction, ...rest } = parsed
    const gate = { tenant: tenantOf(options ?? {}), scope: checkKey(scope, 'scope'), key }
    const timeoutMs = rest.timeoutMs ?? defaultTimeoutMs
    const none = { occurrence: null, member: null, signal: new AbortController().signal }
    const request = {
      ...rest,
      ...none,
      gate,
      timeoutMs,
      holdMs: timeoutMs + env.options.writeOffMs,
      freshMs: env.options.writeOffMs,
    }
    if (isInTransaction) return onceWithin(env, request, effect as (tx: unknown) => Value)
    return once<Value>(env, { ...request, effect: effect as Effect<Value> } as RemoteEffect<Value>)
  }

  async list(filter: GateFilter = {}): Promise<Page<GateView>> {
    checkObject(filter, 'gates')
    checkOptions(filter, ['tenant', 'scope', 'key', 'state', 'limit', 'cursor'], 'gates')
    const { tenant, scope, key, state, limit = 50, cursor } = filter
    const request = {
      act: 'list' as const,
      limit: checkWhole(limit, 'limit', 1, 500),
      ...(tenant !== undefined && { tenant: checkName(tenant, 'tenant') }),
      ...(scope !== undefined && { scope: checkKey(scope, 'scope') }),
      ...(key !== undefined && { key: checkKey(key, 'key') }),
      ...(state !== undefined && { state: checkOneOf(state, 'state', gateStates) }),
      ...(cursor !== undefined && { cursor: checkText(cursor) }),
    }
    const { items, cursor: next } = await this.#env.store.gate(request)
    return { items: items.map(gateView), cursor: next }
  }

  async resolve(target: GateTarget, resolution: GateResolution): Promise<void> {
    const where = 'the target of resolveGate'
    checkObject(target, where)
    checkOptions(target, ['tenant', 'scope', 'key'], where)
    checkObject(resolution, 'the resolution')
    checkOptions(resolution, ['happened', 'result', ...byNames], 'the resolution')
    const gate = { tenant: tenantOf(target), scope: checkKey(target.scope, 'scope'), key: checkKey(target.key, 'key') }
    const { happened, result } = resolution
    if (typeof happened !== 'boolean' || (!happened && result !== undefined))
      throw new PunctualError('option.invalid', 'happened must be true or false; a result goes with true only', {
        field: 'happened',
      })
    const to = happened ? { result: encodeResult(result), keepMs: this.#env.options.gateRetentionMs } : null
    const { outcome } = await this.#env.store.gate({
      act: 'resolve',
      ...gate,
      to,
      audit: auditNote(this.#env, 'resolve', resolution),
    })
    if (outcome === 'none')
      throw new PunctualError(
        'gate.unknown',
        `There is no key ${JSON.stringify(gate.key)} in scope ${JSON.stringify(gate.scope)}`,
        {
          ...gate,
        },
      )
    if (outcome !== 'resolved')
      throw new PunctualError(
        'gate.conflict',
        outcome === 'busy'
          ? 'The effect is under way; its outcome is not unknown'
          : 'The outcome of this effect is known already',
        { ...gate, state: outcome === 'busy' ? 'reserved' : 'done' },
      )
  }
}

function gateView({ fingerprint: _, ...gate }: GateRecord): GateView {
  const date = (at: number | null) => (at === null ? null : new Date(at))
  return {
    ...gate,
    reservedAt: new Date(gate.reservedAt),
    endedAt: date(gate.endedAt),
    expiresAt: date(gate.expiresAt),
    ...readable(gate),
  }
}

/** A key that this process cannot read is listed, and its reason names the key of the codec that is missing. */
function readable({ result, reason }: Pick<GateRecord, 'result' | 'reason'>): Pick<GateView, 'result' | 'reason'> {
  const unreadable = [result, reason].find((text) => text !== null && isSealed(text))
  if (unreadable) return { result: null, reason: missingKey(unreadable).message }
  return { result: decodePayload(result), reason }
}

function checkText(value: unknown): string {
  if (typeof value === 'string') return value
  throw new PunctualError('option.invalid', 'cursor must be one that a list has returned', { field: 'cursor' })
}
