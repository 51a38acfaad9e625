// The calls that change something. Each checks its input before anything is written.
import { isTransient } from '../engine/node/transient.ts'
import { announceUnattendedEnd, isEndNoticed } from '../engine/turn/unattended-end.ts'
import { PunctualError, shown } from '../errors.ts'
import { Definition } from '../model/definition.ts'
import { checkObject, checkOptions, checkWhole } from '../model/limits.ts'
import { decodePayload } from '../model/payload.ts'
import type {
  AuditNote,
  CallerTransaction,
  CancelAnswer,
  CancelRequest,
  CreatedRow,
  MoveAnswer,
  MoveRequest,
} from '../store/store.ts'
import { auditNote, type By, byNames } from './audit-note.ts'
import { CallerCancels } from './caller-cancels.ts'
import { checkJoin } from './caller-transaction.ts'
import type { ClientEnv } from './client-env.ts'
import type { Creations } from './creations.ts'
import { parseWhen, type When } from './due-time.ts'
import { type Job, nameOf } from './job-name.ts'
import type { KeyOptions } from './keys.ts'
import { acceptedPayload, newOccurrence, newOccurrences, type Request } from './new-occurrence.ts'
import {
  type CancelTarget,
  cancelTarget,
  type OccurrenceTarget,
  shownTarget,
  tenantOf,
  unknownOccurrence,
  whichOf,
} from './occurrence-target.ts'
import { unknownJob } from './unknown-job.ts'

/** The options of `trigger`. */
export interface TriggerOptions<Payload = unknown> extends KeyOptions, By {
  /** Default: the job's own payload. */
  payload?: Payload
  tenant?: string
}

/** The options of `retry`. */
export type DeadRetryOptions = When &
  By & {
    /** Replaces the payload of the work, once the job's schema has accepted it. */
    payload?: unknown
  }

/** The options of `cancel`. */
export interface CancelOptions extends By {
  /**
   * Cancels also the work that its handlers have created (`ctx.enqueue`), and the work of that work, pending and running. An ended
   * target is no hindrance. Work below an occurrence that was deleted after its retention is not found.
   */
  children?: boolean
  /** Leaves work alone whose key was given a higher `keyVersion` by `enqueue`; the answer is then `unknown`. */
  keyVersion?: number
  /** Your transaction: the work is canceled when it commits. Needs a store with the ability `join`; see also `wake`. */
  tx?: CallerTransaction | undefined
}
/** `canceled`: it has ended. `canceling`: it runs, and was signaled. `ended`: there was nothing left to cancel. */
export type CancelOutcome = 'canceled' | 'canceling' | 'ended' | 'unknown'
export class Commands {
  readonly #env: ClientEnv
  readonly #creations: Creations
  readonly #callerCancels: CallerCancels

  constructor(env: ClientEnv, creations: Creations) {
    this.#env = env
    this.#creations = creations
    this.#callerCancels = new CallerCancels(env)
  }

  async enqueue(request: Request, tx?: CallerTransaction): Promise<CreatedRow> {
    if (tx !== undefined) checkJoin(this.#env.store, tx)
    const row = await newOccurrence(this.#env, request)
    if (tx === undefined) return this.#creations.add(row)
    const [answer] = await this.#creations.addAll([row], tx)
    return answer as CreatedRow
  }

  /** All or none are valid; the store takes them in as few calls as its limit allows. */
  async enqueueAll(requests: readonly Request[], options: { tx?: CallerTransaction | undefined } = {}): Promise<CreatedRow[]> {
    checkObject(options, 'options of enqueue')
    checkOptions(options, ['tx'], 'options of a bulk enqueue')
    const { tx } = options
    const { store } = this.#env
    if (tx !== undefined) checkJoin(store, tx)
    const rows = await newOccurrences(this.#env, requests)
    return this.#creations.addAll(rows, tx)
  }

  /** Runs a job once, now, whatever its schedule says. */
  async trigger(job: Job, options: TriggerOptions = {}): Promise<CreatedRow> {
    checkOptions(options, ['payload', 'key', 'idempotencyKey', 'tenant', ...byNames], 'trigger')
    const { by: _, reason: __, ...rest } = options
    const audit = auditNote(this.#env, 'trigger', options)
    const name = nameOf(job)
    const tenant = tenantOf(options)
    const [known] = await this.#env.store.readJobs({ tenant, name, limit: 1 })
    const definition =
      known?.spec.definition ?? (this.#env.registry.definition(name) ?? (job instanceof Definition ? job : undefined))?.name
    if (definition === undefined) throw unknownJob(tenant, name)
    const payload = 'payload' in options ? options.payload : decodePayload(known?.spec.payload ?? null)
    const row = await newOccurrence(
      this.#env,
      { ...rest, job: name, payload },
      { source: 'manual', definition, spec: known?.spec },
    )
    return this.#creations.addAudited(row, audit)
  }

  async cancel(target: CancelTarget, options: CancelOptions = {}): Promise<CancelOutcome> {
    checkObject(options, 'options of cancel')
    const { tx, ...rest } = options
    const request = this.cancelRequest(cancelTarget(target), rest)
    if (tx !== undefined) checkJoin(this.#env.store, tx)
    return this.cancelAll(request, tx)
  }

  cancelRequest(which: CancelRequest['which'], options: Omit<CancelOptions, 'tx'>): CancelRequest {
    checkObject(options, 'options of cancel')
    const { children = false, keyVersion, ...rest } = options
    if (keyVersion !== undefined) checkWhole(keyVersion, 'keyVersion', 0, Number.MAX_SAFE_INTEGER)
    if (typeof children !== 'boolean')
      throw new PunctualError('option.invalid', `children must be true or false; got ${shown(children)}`, { field: 'children' })
    checkOptions(rest, byNames, 'options of cancel')
    const audit = auditNote(this.#env, 'cancel', rest)
    return { which, reason: audit.reason, audit, ...(children && { children }), ...(keyVersion !== undefined && { keyVersion }) }
  }

  async cancelAll(request: CancelRequest, tx?: CallerTransaction): Promise<CancelOutcome> {
    const outcomes = new Map<string, CancelAnswer['outcome']>()
    // A handler that was not signaled yet may create another child while its tree is canceled: repeated until there is no new one.
    for (let before = -1; before < outcomes.size; ) {
      before = outcomes.size
      const answers = await this.#env.store.cancel(request, tx)
      const fresh = answers.filter(({ id }) => !outcomes.has(id))
      for (const { id, outcome } of fresh) outcomes.set(id, outcome)
      await this.#announce(fresh, tx)
      if (!request.children || tx !== undefined) break
    }
    const found = [...outcomes.values()]
    return (['canceling', 'canceled', 'ended'] as const).find((outcome) => found.includes(outcome)) ?? 'unknown'
  }

  async #announce(answers: readonly CancelAnswer[], tx: CallerTransaction | undefined): Promise<void> {
    const env = this.#env
    const canceled = answers.filter(({ outcome }) => outcome === 'canceled').map(({ id }) => id)
    if (tx !== undefined) this.#callerCancels.add(canceled)
    else if (isEndNoticed(env)) for (const id of canceled) await announceUnattendedEnd(env, { id }, { unlessRun: true })
    if (canceled.length > 0) env.events.emit('signal.ended', null)
  }

  /** Announces the commit of a caller's transaction. While the store is away this is not needed: all nodes look by themselves. */
  async wake(): Promise<void> {
    try {
      await this.#env.store.hints.wake()
      await this.#callerCancels.announce()
    } catch (error) {
      if (!isTransient(error)) throw error
    }
  }

  /** Moves pending work to another time. */
  async reschedule(target: OccurrenceTarget, when: When & By): Promise<void> {
    checkObject(when, 'the new time of reschedule')
    checkOptions(when, ['delay', 'runAt', ...byNames], 'reschedule')
    if (when.delay === undefined && when.runAt === undefined)
      throw new PunctualError('option.invalid', 'reschedule needs delay, a duration from now, or runAt, an instant', {
        field: 'delay',
      })
    await this.#move(target, { due: parseWhen(when) }, auditNote(this.#env, 'reschedule', when))
  }

  /** Gives a dead occurrence another chance. */
  async retry(target: OccurrenceTarget, options: DeadRetryOptions = {}): Promise<void> {
    checkObject(options, 'options of retry')
    checkOptions(options, ['delay', 'runAt', 'payload', ...byNames], 'options of retry')
    const { payload, ...when } = options
    const audit = auditNote(this.#env, 'retry', options)
    const retry = parseWhen(when as When)
    const to = payload === undefined ? { retry } : { retry, payload: await this.#editedPayload(target, payload) }
    await this.#move(target, to, audit)
  }

  /** The payload that replaces another, by the schema of the occurrence's job where this process knows it. */
  async #editedPayload(target: OccurrenceTarget, payload: unknown): Promise<string | null> {
    const found = await this.#env.store.get(whichOf(target))
    if (!found) throw unknownOccurrence(target)
    return acceptedPayload(this.#env.registry.definition(found.record.definition), payload)
  }

  /** Ends a dead occurrence for good. */
  async discard(target: OccurrenceTarget, options: By = {}): Promise<void> {
    checkObject(options, 'options of discard')
    checkOptions(options, byNames, 'options of discard')
    const audit = auditNote(this.#env, 'discard', options)
    await this.#move(target, { discard: audit.reason }, audit)
    if (isEndNoticed(this.#env)) await announceUnattendedEnd(this.#env, whichOf(target))
    this.#env.events.emit('signal.ended', null)
  }

  /** Puts running work back into the queue. Its handler gets the signal `lost`, and writes nothing any more. */
  async release(target: OccurrenceTarget, options: By = {}): Promise<void> {
    checkObject(options, 'options of release')
    checkOptions(options, byNames, 'options of release')
    const audit = auditNote(this.#env, 'release', options)
    await this.#move(target, { release: audit.reason }, audit)
  }

  async #move(target: OccurrenceTarget, to: MoveRequest['to'], audit: AuditNote): Promise<void> {
    const which = whichOf(target)
    const answer = await this.#env.store.move({ which, to, audit })
    if (answer !== 'moved') throw moveError(answer, target)
  }
}

function moveError(answer: Exclude<MoveAnswer, 'moved'>, target: OccurrenceTarget): PunctualError {
  if (answer === 'unknown') return unknownOccurrence(target)
  const reasons = {
    running: 'it is running',
    ended: 'it has ended',
    'not-dead': 'it is not dead',
    'not-running': 'it is not running',
  } as const
  return new PunctualError('occurrence.conflict', `Cannot move the ${shownTarget(target)}: ${reasons[answer]}`, {
    target,
    state: answer,
  })
}
