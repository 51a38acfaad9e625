// An effect that happens once: reserve its key, perform it, record the outcome. After any failure in between, the key shows the state.
import { PunctualError } from '../../errors.ts'
import { type Checked, type Effect, type EffectContext, isOutcomeUnknown } from '../../model/effect.ts'
import { errorText } from '../../model/error-record.ts'
import { gateId } from '../../model/ids.ts'
import { decodePayload, encodeResult } from '../../model/payload.ts'
import type { GateAnswer, GateKey, GateRecord, GateReserve, GateWrite, MemberWrite } from '../../store/store.ts'
import { sleep } from '../../time/clock.ts'
import type { Env } from '../env.ts'
import { Aborted } from '../turn/aborted.ts'
import { deadline } from './deadline.ts'
import { busy, conflict, held, lostKey } from './gate-errors.ts'
import { retryWhileAway } from './retry-while-away.ts'

const firstLookMs = 100
const longestLookMs = 2000

/** The parts of the environment that an effect needs. */
export type EffectEnv = Pick<Env, 'clock' | 'randomBytes' | 'store' | 'events' | 'log'>

export interface OnceRequest {
  readonly gate: GateKey
  readonly fingerprint: string | null
  readonly keepMs: number | null
  readonly waitMs: number
  readonly occurrence: string | null
  readonly member: MemberWrite | null
  /** Aborts with the attempt. */
  readonly signal: AbortSignal
  /** No holder of the key is believed for longer. */
  readonly holdMs: number
  /** An effect begins within so long after its key was reserved, or the key is reserved again. */
  readonly freshMs: number
  /** Hides values in texts that are recorded. */
  readonly redact?: (text: string) => string
}

export interface RemoteEffect<Value> extends OnceRequest {
  readonly effect: Effect<Value>
  readonly check: ((given: EffectContext) => Checked<Value> | Promise<Checked<Value>>) | null
  readonly repeats: boolean
  /** The most that check and effect may take together; null: as long as the attempt. */
  readonly timeoutMs: number | null
}

/** Performs a remote effect, or returns the outcome that is recorded under its key. */
export async function once<Value>(env: EffectEnv, request: RemoteEffect<Value>): Promise<Value> {
  const { check, repeats } = request
  const holder = secretOf(env)
  const take = () => reserve(env, request, { holder, takesUnknown: check !== null || repeats })
  const first = await take()
  const limit = deadline(env.clock, request.timeoutMs, request.signal)
  try {
    return await performOnce(env, { ...request, signal: limit.signal }, { holder, take, first })
  } finally {
    limit.clear()
  }
}

interface Taking {
  readonly holder: string
  readonly take: () => Promise<Reservation>
  readonly first: Reservation
}

/** A process that was stopped for a while may have lost its reservation meanwhile: it reserves the key again before it goes on. */
async function performOnce<Value>(env: EffectEnv, request: RemoteEffect<Value>, { holder, take, first }: Taking): Promise<Value> {
  const { check, freshMs } = request
  const holding = new Holding(env, request, holder)
  let { outcome, gate, sentAt } = first
  for (let isChecked = false; ; ) {
    if (outcome === 'done') return decodePayload((gate as GateRecord).result) as Value
    if (outcome === 'taken' && check && !isChecked) {
      const found = await holding.checked(check)
      if (found) return found.value
      isChecked = true
    }
    if (env.clock.mono() - sentAt < freshMs) return holding.perform(outcome === 'taken' && !check)
    const before = gate?.tries
    ;({ outcome, gate, sentAt } = await take())
    // Another call had the key meanwhile.
    if (gate?.tries !== before) isChecked = false
  }
}

/** Performs an effect of the store's database in the commit of its key. */
export async function onceWithin<Value>(
  env: EffectEnv,
  request: OnceRequest,
  work: (tx: unknown) => Value | Promise<Value>,
): Promise<Value> {
  const { store } = env
  if (!store.abilities.has('tx'))
    throw new PunctualError(
      'transaction.unsupported',
      `The ${store.name} store has no transactions to share; use a store with the ability tx, such as sqlite or postgres`,
      { store: store.name },
    )
  let value!: Value
  const take = (given: Value): string | null => {
    value = given
    return encodeResult(given)
  }
  const within = (tx: unknown) => {
    const given = work(tx)
    return isPromise(given) ? whileWanted(request.signal, given).then(take) : take(given)
  }
  const { outcome, gate } = await reserve(env, request, { holder: secretOf(env), takesUnknown: false, within })
  return outcome === 'performed' ? value : (decodePayload((gate as GateRecord).result) as Value)
}

/** `sentAt`: when the call was sent that reserved the key. */
interface Reservation extends GateAnswer {
  readonly sentAt: number
}

/** Reserves the key. Waits for another call that is in the middle of the same effect; its outcome is the answer then. */
async function reserve(
  env: EffectEnv,
  request: OnceRequest,
  by: Pick<GateReserve, 'holder' | 'takesUnknown' | 'within'>,
): Promise<Reservation> {
  const { clock, store } = env
  const { gate: key, fingerprint, occurrence, member, holdMs, keepMs, waitMs, signal } = request
  const until = clock.mono() + waitMs
  for (let lookMs = firstLookMs; ; lookMs = Math.min(2 * lookMs, longestLookMs)) {
    signal.throwIfAborted()
    let sentAt = 0
    const answer = await retryWhileAway(env, signal, () => {
      sentAt = clock.mono()
      return store.gate({ act: 'reserve', ...key, fingerprint, occurrence, member, holdMs, keepMs, ...by })
    })
    if (answer.outcome !== 'busy') return { ...accepted(env, request, answer), sentAt }
    const leftMs = until - clock.mono()
    if (leftMs <= 0) throw busy(key, answer.gate)
    await sleep(clock, Math.min(lookMs, leftMs), signal)
  }
}

function accepted(env: EffectEnv, { gate: key, check }: OnceRequest & { check?: unknown }, answer: GateAnswer): GateAnswer {
  if (answer.outcome === 'lost') throw new Aborted('lost')
  if (answer.outcome === 'mismatch') throw conflict(key)
  if (answer.outcome === 'unknown') throw heldKey(env, key, answer.gate, Boolean(check))
  return answer
}

/** A reserved key, until its outcome is recorded. */
class Holding<Value> {
  readonly #env: EffectEnv
  readonly #request: RemoteEffect<Value>
  readonly #holder: string
  readonly #given: EffectContext

  constructor(env: EffectEnv, request: RemoteEffect<Value>, holder: string) {
    const { tenant, scope, key } = request.gate
    this.#env = env
    this.#request = request
    this.#holder = holder
    this.#given = { idempotencyKey: gateId(tenant, scope, key), signal: request.signal }
  }

  /** The outcome that `check` has found; null when the effect did not happen. */
  async checked(check: NonNullable<RemoteEffect<Value>['check']>): Promise<{ readonly value: Value } | null> {
    let found: Checked<Value>
    try {
      found = await whileWanted(this.#request.signal, (async () => check(this.#given))())
    } catch (error) {
      await this.#doubt(`check threw: ${errorText(error)}`)
      throw error
    }
    if (found?.happened === false) return null
    if (found?.happened === true) {
      const value = found.result as Value
      await this.#record(value)
      return { value }
    }
    await this.#doubt('check could not tell whether it happened')
    throw heldKey(this.#env, this.#request.gate, null, true)
  }

  /** @param isRepeated Whether the outcome of an earlier try is still unknown. */
  async perform(isRepeated: boolean): Promise<Value> {
    const { signal, effect } = this.#request
    if (signal.aborted) {
      await this.#unperformed(isRepeated)
      throw signal.reason
    }
    // A throw of a synchronous effect becomes a rejection.
    const performing = (async () => effect(this.#given))()
    let value: Value
    try {
      value = await whileWanted(signal, performing)
    } catch (error) {
      await this.#failed(error, performing, isRepeated)
      throw error
    }
    await this.#record(value)
    return value
  }

  /** The attempt was over before the effect began. */
  async #unperformed(isRepeated: boolean): Promise<void> {
    const { signal, gate } = this.#request
    try {
      await this.#settle(isRepeated ? { act: 'doubt', reason: errorText(signal.reason) } : { act: 'release' })
    } catch (cause) {
      this.#env.log.error('A reservation could not be given back', { ...gate, error: errorText(cause) })
    }
  }

  /**
   * A throw frees the key, unless the outcome is unknown: after an abort, any error may be the abort's, and the failure of a repeated
   * try says nothing about the one before.
   */
  async #failed(error: unknown, performing: Promise<Value>, isRepeated: boolean): Promise<void> {
    const { signal, gate } = this.#request
    try {
      if (!signal.aborted && !isOutcomeUnknown(error) && !isRepeated) return void (await this.#settle({ act: 'release' }))
      await this.#doubt(errorText(error))
    } catch (cause) {
      // The key shows an unknown outcome by itself, once the turn is over.
      this.#env.log.error('The end of an effect could not be recorded', { ...gate, error: errorText(cause) })
    }
    performing.then(
      (value) => this.#late(value),
      () => {},
    )
  }

  async #record(value: Value): Promise<void> {
    let result: string | null = null
    let fault: unknown = null
    try {
      result = encodeResult(value)
    } catch (error) {
      // The effect has happened, whatever became of its result: it is recorded without one.
      fault = error
    }
    const outcome = await this.#settle({ act: 'record', result, keepMs: this.#request.keepMs })
    if (outcome === 'lost') throw lostKey(this.#request.gate)
    if (fault) throw fault
  }

  async #doubt(cause: string): Promise<void> {
    const reason = this.#request.redact?.(cause) ?? cause
    const { gate, occurrence } = this.#request
    await this.#settle({ act: 'doubt', reason })
    this.#env.log.warn('The outcome of an effect is unknown', { ...gate, occurrence, reason })
    this.#env.events.emit('gate.unknown', { ...gate, occurrence, reason })
  }

  /** An effect that happens after its attempt was cut still records its outcome, unless it was resolved meanwhile. */
  async #late(value: Value): Promise<void> {
    try {
      await this.#record(value)
    } catch (error) {
      this.#env.log.warn('The late outcome of an effect was not recorded', { ...this.#request.gate, error: errorText(error) })
    }
  }

  async #settle(write: Settlement): Promise<GateAnswer['outcome']> {
    const { gate } = this.#request
    const request = { ...gate, holder: this.#holder, ...write } as GateWrite
    return (await retryWhileAway(this.#env, null, () => this.#env.store.gate(request))).outcome
  }
}

type Settlement =
  | { readonly act: 'record'; readonly result: string | null; readonly keepMs: number | null }
  | { readonly act: 'release' }
  | { readonly act: 'doubt'; readonly reason: string }

/** Rejects as soon as the attempt is over. Through a shutdown the effect may go on. */
function whileWanted<Value>(signal: AbortSignal, performing: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (signal.aborted && signal.reason?.code !== 'shutdown') reject(signal.reason)
    }
    signal.addEventListener('abort', look)
    performing.then(resolve, reject).finally(() => signal.removeEventListener('abort', look))
    look()
  })
}

function isPromise<Value>(given: Value | Promise<Value>): given is Promise<Value> {
  return typeof (given as { then?: unknown } | null | undefined)?.then === 'function'
}

function secretOf({ randomBytes }: EffectEnv): string {
  return Buffer.from(randomBytes(16)).toString('base64url')
}

function heldKey({ events }: EffectEnv, key: GateKey, gate: GateRecord | null, isChecked: boolean): PunctualError {
  const error = held(key, gate, isChecked)
  events.emit('gate.unknown', { ...key, occurrence: gate?.occurrence ?? null, reason: gate?.reason ?? null })
  return error
}
