// The calls that change something. Each checks its input before anything is written.
import type { Engine } from '../engine/node/engine.ts'
import { isTransient } from '../engine/node/transient.ts'
import { announceUnattendedEnd, isEndNoticed } from '../engine/turn/unattended-end.ts'
import { PunctualError } from '../errors.ts'
import { type AnyDefinition, Definition } from '../model/definition.ts'
import type { JobRecord, JobSpec } from '../model/job.ts'
import { checkKey, checkObject, checkOptions } from '../model/limits.ts'
import type { OccurrenceRecord, Replay } from '../model/occurrence.ts'
import { decodePayload } from '../model/payload.ts'
import type { CreatedRow, MoveAnswer, NewOccurrence, Queryable } from '../store/store.ts'
import { checkJoin } from './caller-transaction.ts'
import { Creations } from './creations.ts'
import { nameOf } from './job-name.ts'
import type { KeyOptions } from './keys.ts'
import { newOccurrence, newOccurrences, type Request } from './new-occurrence.ts'
import {
  type CancelTarget,
  cancelTarget,
  type OccurrenceTarget,
  shownTarget,
  tenantOf,
  unknownOccurrence,
  whichOf,
} from './occurrence-target.ts'
import type { FillRow } from './operations.ts'
import { unknownJob } from './unknown-job.ts'
import { UntoldEnds } from './untold-ends.ts'
import { parseWhen, type When } from './when.ts'

/** The options of `trigger`. */
export interface TriggerOptions<Payload = unknown> extends KeyOptions {
  /** Default: the job's own payload. */
  payload?: Payload
  tenant?: string
}

/** The options of `cancel`. */
export interface CancelOptions {
  reason?: string
  /** Your transaction: the work is canceled when it commits. Needs a store with the ability `join`; see also `wake`. */
  tx?: Queryable | undefined
}
/** `canceled`: it has ended. `canceling`: it runs, and was signaled. `ended`: there was nothing left to cancel. */
export type CancelOutcome = 'canceled' | 'canceling' | 'ended' | 'unknown'
export class Commands {
  readonly #engine: Engine
  readonly #creations: Creations
  readonly #untold: UntoldEnds

  constructor(engine: Engine) {
    this.#engine = engine
    this.#creations = new Creations(engine.env)
    this.#untold = new UntoldEnds(engine.env)
  }

  async enqueue(request: Request, tx?: Queryable): Promise<CreatedRow> {
    if (tx !== undefined) checkJoin(this.#engine.env.store, tx)
    const row = await newOccurrence(this.#engine.env, request)
    await this.#engine.open()
    if (tx === undefined) return this.#creations.add(row)
    const [answer] = await this.#creations.addAll([row], tx)
    return answer as CreatedRow
  }

  /** All or none are valid; the store takes them in as few calls as its limit allows. */
  async enqueueAll(requests: readonly Request[], options: { tx?: Queryable | undefined } = {}): Promise<CreatedRow[]> {
    checkObject(options, 'options of enqueue')
    checkOptions(options, ['tx'], 'options of a bulk enqueue')
    const { tx } = options
    const { store } = this.#engine.env
    if (tx !== undefined) checkJoin(store, tx)
    const rows = await newOccurrences(this.#engine.env, requests)
    await this.#engine.open()
    return this.#creations.addAll(rows, tx)
  }

  /** Runs a job once, now, whatever its schedule says. */
  async trigger(job: AnyDefinition | string, options: TriggerOptions = {}): Promise<CreatedRow> {
    checkOptions(options, ['payload', 'key', 'idempotencyKey', 'tenant'], 'trigger')
    const name = nameOf(job)
    const tenant = tenantOf(options)
    await this.#engine.open()
    const [known] = await this.#engine.env.store.readJobs({ tenant, name, limit: 1 })
    const definition =
      known?.spec.definition ??
      (this.#engine.env.registry.definition(name) ?? (job instanceof Definition ? job : undefined))?.name
    if (definition === undefined) throw unknownJob(tenant, name)
    const payload = 'payload' in options ? options.payload : decodePayload(known?.spec.payload ?? null)
    const row = await newOccurrence(
      this.#engine.env,
      { ...options, job: name, payload },
      { source: 'manual', definition, spec: known?.spec },
    )
    return this.#creations.add(row)
  }

  /** Creates a repetition of an occurrence, for the same instant and with the same payload and refs. */
  async replay(
    record: OccurrenceRecord,
    { id, replay, spec }: { id: string; replay: Replay; spec: JobSpec | undefined },
  ): Promise<CreatedRow> {
    const { job, tenant, definition, payload, refs, entity, scheduledAt } = record
    const request = { job, tenant, payload: decodePayload(payload), refs, ...(entity !== null && { entity }) }
    const row = await newOccurrence(this.#engine.env, request, { source: 'replay', definition, id, replay, spec })
    return this.#creations.add({ ...row, scheduledAt })
  }

  /** Creates the runs of a backfill, under a separate limit. Each stands for its instant, by the version in force at it. */
  async fill(
    job: JobRecord,
    rows: readonly FillRow[],
    { operation, limit }: { operation: string; limit: number },
  ): Promise<readonly CreatedRow[]> {
    const { store } = this.#engine.env
    const versions = await store.readVersions(job)
    const created: NewOccurrence[] = []
    for (const { id, at, version, origin } of rows) {
      const spec = versions.find((one) => one.version === version)?.spec ?? job.spec
      const request = { job: job.name, tenant: job.tenant, payload: decodePayload(spec.payload), entity: operation }
      const replay = origin === null ? {} : { replay: { origin, reason: `backfill ${operation}`, tasks: null } }
      const row = await newOccurrence(this.#engine.env, request, {
        source: 'backfill',
        definition: spec.definition,
        id,
        version,
        spec,
        ...replay,
      })
      // Its instant is long past: how late it may start says nothing about it.
      created.push({
        ...row,
        due: at,
        startWithinMs: null,
        limits: [
          { kind: 'concurrency', key: JSON.stringify(['backfill', operation]), limit },
          ...(row.limits === 'declared' ? [] : (row.limits ?? [])),
        ],
      })
    }
    return this.#creations.addAll(created)
  }

  async cancel(target: CancelTarget, options: CancelOptions = {}): Promise<CancelOutcome> {
    checkObject(options, 'options of cancel')
    const { tx, ...rest } = options
    const request = { which: cancelTarget(target), reason: reasonOf(rest, 'options of cancel') }
    const { env } = this.#engine
    if (tx !== undefined) checkJoin(env.store, tx)
    await this.#engine.open()
    const answers = await env.store.cancel(request, tx)
    const canceled = answers.filter(({ outcome }) => outcome === 'canceled').map(({ id }) => id)
    if (tx !== undefined) this.#untold.add(canceled)
    else if (isEndNoticed(env)) for (const id of canceled) await announceUnattendedEnd(env, { id }, { unlessRun: true })
    if (canceled.length > 0) this.#engine.wakeWatch()
    const outcomes = answers.map((answer) => answer.outcome)
    return (['canceling', 'canceled', 'ended'] as const).find((outcome) => outcomes.includes(outcome)) ?? 'unknown'
  }

  /** Announces the commit of a caller's transaction. While the store is away this is not needed: all nodes look by themselves. */
  async wake(): Promise<void> {
    try {
      await this.#engine.open()
      await this.#engine.env.store.hints.wake()
      await this.#untold.announce()
    } catch (error) {
      if (!isTransient(error)) throw error
    }
  }

  /** Moves pending work to another time. */
  async reschedule(target: OccurrenceTarget, when: When): Promise<void> {
    checkObject(when, 'the new time of reschedule')
    checkOptions(when, ['delay', 'runAt'], 'reschedule')
    if (when.delay === undefined && when.runAt === undefined)
      throw new PunctualError('option.invalid', 'reschedule needs delay, a duration from now, or runAt, an instant', {
        field: 'delay',
      })
    await this.#move(target, { due: parseWhen(when) })
  }

  /** Gives a dead occurrence another chance. */
  async retry(target: OccurrenceTarget, options: When = {}): Promise<void> {
    checkObject(options, 'options of retry')
    checkOptions(options, ['delay', 'runAt'], 'options of retry')
    await this.#move(target, { retry: parseWhen(options) })
  }

  /** Ends a dead occurrence for good. */
  async discard(target: OccurrenceTarget, options: { reason?: string } = {}): Promise<void> {
    await this.#move(target, { discard: reasonOf(options, 'options of discard') })
    if (isEndNoticed(this.#engine.env)) await announceUnattendedEnd(this.#engine.env, whichOf(target))
    this.#engine.wakeWatch()
  }

  async #move(target: OccurrenceTarget, to: Parameters<Engine['env']['store']['move']>[0]['to']): Promise<void> {
    const which = whichOf(target)
    await this.#engine.open()
    const answer = await this.#engine.env.store.move({ which, to })
    if (answer !== 'moved') throw moveError(answer, target)
  }
}

function reasonOf(options: { reason?: string }, where: string): string | null {
  checkObject(options, where)
  checkOptions(options, ['reason'], where)
  return options.reason === undefined ? null : checkKey(options.reason, 'reason')
}

function moveError(answer: Exclude<MoveAnswer, 'moved'>, target: OccurrenceTarget): PunctualError {
  if (answer === 'unknown') return unknownOccurrence(target)
  const reasons = { running: 'it is running', ended: 'it has ended', 'not-dead': 'it is not dead' } as const
  return new PunctualError('occurrence.conflict', `Cannot move the ${shownTarget(target)}: ${reasons[answer]}`, {
    target,
    state: answer,
  })
}
