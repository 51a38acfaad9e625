import type { DueSummary } from '../engine/node/due-work.ts'
import { Engine } from '../engine/node/engine.ts'
import { PunctualError, shown } from '../errors.ts'
import type { Handler } from '../model/context.ts'
import { type AnyDefinition, Definition, type ResultsOf } from '../model/definition.ts'
import { type EventName, eventNames, type Health, type Listener } from '../model/events.ts'
import { checkName, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import type { StoreCall } from '../store/observed.ts'
import type { NodeRecord } from '../store/store.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { type InstantInput, parseInstant } from '../time/instant.ts'
import type { By } from './audit-note.ts'
import { allowBuiltIns } from './built-in.ts'
import type { ClientEnv } from './client-env.ts'
import { Creations } from './creations.ts'
import { drainNode } from './drain-node.ts'
import type { HandlerOf } from './job-arguments.ts'
import { type Job, nameOf } from './job-name.ts'
import { nodeEnv } from './node-env.ts'
import type { PunctualOptions } from './options.ts'
import { keepSchedulerEnv } from './scheduler-env.ts'
import { Tenant } from './tenant.ts'
import { WorkChanges } from './work-changes.ts'

/**
 * A scheduler on a store. Without `start` it is a client: it enqueues, schedules, cancels and reads; started, it is a node that
 * plans and runs work too.
 * @example const punctual = createPunctual({ store: sqlite('punctual.db'), jobs: [invoice] })
 */
export function createPunctual(options: PunctualOptions): Punctual {
  return new Punctual(options)
}

/** A scheduler, made by `createPunctual`: it reads, changes jobs and work, and once started it is a node. */
export class Punctual extends WorkChanges implements AsyncDisposable {
  readonly #env: ClientEnv
  readonly #engine: Engine
  #isClosed = false

  constructor(given: PunctualOptions) {
    const env = nodeEnv(given)
    const creations = new Creations(env)
    super(env, creations)
    this.#env = env
    keepSchedulerEnv(this, env)
    this.#engine = new Engine(env)
    allowBuiltIns(this, { env, creations, changed: () => env.events.emit('signal.registered', null) })
  }

  /** Makes this process a node. Resolves while the store is down, too: see `health`. */
  async start(): Promise<this> {
    this.#checkOpen()
    await this.#engine.start()
    return this
  }

  /** Stops planning and claiming, signals running handlers, and waits for them for the grace period. */
  async stop(options: { grace?: DurationInput } = {}): Promise<void> {
    checkOptions(options, ['grace'], 'stop')
    const { grace } = options
    await this.#engine.stop(grace === undefined ? undefined : parseDuration(grace, 'grace'))
  }

  /** Stops, and lets go of the store. */
  override async close(): Promise<void> {
    this.#isClosed = true
    await super.close()
    await this.#engine.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /**
   * The same API for one tenant: ids and jobs of other tenants are unknown to it.
   * @example await punctual.tenant('acme').enqueue(remind, { order: 42 })
   */
  tenant(name: string): Tenant {
    return new Tenant(this, checkName(name, 'tenant'))
  }

  /** One pass for hosts that tick from outside: plans, claims up to `limit`, runs to the end. `now` can only lower the store's. */
  async runDue(options: { now?: InstantInput; limit?: number } = {}): Promise<DueSummary> {
    this.#checkOpen()
    checkOptions(options, ['now', 'limit'], 'runDue')
    const { now, limit = 100 } = options
    checkWhole(limit, 'limit', 1, 100_000)
    return this.#engine.runDue({ limit, ...(now !== undefined && { dueBy: parseInstant(now, 'now') }) })
  }

  /** Resolves when a started scheduler has run everything that is due now and that it has handlers for. */
  async idle(): Promise<void> {
    this.#checkOpen()
    await this.#engine.idle()
  }

  /** Registers a definition after creation. */
  define(definition: AnyDefinition): this {
    if (!(definition instanceof Definition))
      throw new PunctualError('option.invalid', `definition must be made by defineJob; got ${shown(definition)}`, {
        field: 'definition',
      })
    this.#env.registry.define(definition)
    this.#env.events.emit('signal.registered', null)
    return this
  }

  /** Registers a handler for a job, or for one of its tasks, apart from the definition. */
  handle<const J extends Job>(job: J, handler: HandlerOf<J>): this
  handle<const J extends Job>(job: J, task: keyof ResultsOf<J> & string, handler: HandlerOf<J>): this
  handle(job: Job, second: string | Handler<never, never>, third?: Handler<never, never>): this {
    const [task, handler] = typeof second === 'string' ? [second, third] : [null, second]
    this.#env.registry.handle(nameOf(job), task === null ? null : checkName(task, 'task'), handler as Handler)
    this.#env.events.emit('signal.registered', null)
    return this
  }

  /** Listens to events of this process; the returned function removes the listener. */
  on<Name extends EventName>(event: Name, listener: Listener<Name>): () => void {
    checkOneOf(event, 'event', eventNames)
    if (typeof listener !== 'function')
      throw new PunctualError('option.invalid', `listener of ${event} must be a function; got ${shown(listener)}`, {
        field: 'listener',
      })
    return this.#env.events.on(event, listener)
  }

  /**
   * Calls the listener after each call to the store, with its verb, duration and error: for metrics and traces. Without a listener
   * nothing is measured. The returned function ends it.
   */
  onStoreCall(listener: (call: StoreCall) => void): () => void {
    if (typeof listener !== 'function')
      throw new PunctualError('option.invalid', `listener of onStoreCall must be a function; got ${shown(listener)}`, {
        field: 'listener',
      })
    return this.#env.events.on('signal.store', ({ verb, durationMs, error }) => listener({ verb, durationMs, error }))
  }

  /**
   * Lets a node, named by its name or boot id, finish its work and take no more. It learns of it at its next beat, stays listed until it
   * leaves, and gets the event `node.draining`. A process that starts anew takes work again.
   */
  async drainNode(node: string, options?: By): Promise<readonly NodeRecord[]> {
    return drainNode(this.#env, node, options)
  }

  /** Whether this node does its work, and why not. */
  get health(): Health {
    return this.#engine.health
  }

  /** How many occurrences run here, and how many claimed ones wait for a slot. */
  get depth(): { running: number; queued: number } {
    return this.#engine.depth
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new PunctualError('punctual.closed', 'This scheduler was closed; create a new one', {})
  }
}
