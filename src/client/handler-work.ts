import { isTransient } from '../engine/node/transient.ts'
import type { WorkPort } from '../engine/turn/children.ts'
import { systemActor } from '../model/audit.ts'
import type { ChildCancelOptions, ChildOptions, ChildTarget, JobReference } from '../model/child.ts'
import { checkOptions } from '../model/limits.ts'
import type { OccurrenceRecord } from '../model/occurrence.ts'
import type { CancelRequest, ChildWork, CreatedRow, NewOccurrence } from '../store/store.ts'
import type { ClientEnv } from './client-env.ts'
import type { CancelOutcome, Commands } from './commands.ts'
import type { Creations } from './creations.ts'
import { type Job, nameOf, ownNameOf } from './job-name.ts'
import { newChild } from './new-occurrence.ts'
import { type CancelTarget, cancelTarget } from './occurrence-target.ts'

/** `ctx.enqueue` and `ctx.cancel`: as the calls of a scheduler, bound to the tenant of the handler. */
export class HandlerWork implements WorkPort {
  readonly #env: ClientEnv
  readonly #creations: Creations
  readonly #commands: Commands

  constructor(env: ClientEnv, creations: Creations, commands: Commands) {
    this.#env = env
    this.#creations = creations
    this.#commands = commands
    env.work.port = this
  }

  prepare(
    { id, tenant }: OccurrenceRecord,
    job: JobReference,
    payload: unknown,
    options: ChildOptions,
  ): NewOccurrence | Promise<NewOccurrence> {
    const own = job as Job
    ownNameOf(own)
    checkOptions(options, childNames(options), 'options of ctx.enqueue')
    const origin = { source: 'deferred' as const, definition: nameOf(own), parent: id }
    return newChild(this.#env, { ...options, tenant, job: own, payload }, origin)
  }

  create(row: NewOccurrence): Promise<CreatedRow> {
    return this.#creations.add(row)
  }

  request({ tenant }: OccurrenceRecord, target: ChildTarget, options: ChildCancelOptions): CancelRequest {
    const which = cancelTarget((typeof target === 'object' && target !== null ? { ...target, tenant } : target) as CancelTarget)
    return this.#commands.cancelRequest('id' in which ? { ...which, tenant } : which, { ...options, by: systemActor })
  }

  cancel(request: CancelRequest): Promise<CancelOutcome> {
    return this.#commands.cancelAll(request)
  }

  async committed({ creates, cancels }: ChildWork): Promise<void> {
    if (cancels.length > 0) this.#env.events.emit('signal.ended', null)
    if (creates.length === 0 && cancels.length === 0) return
    this.#env.trace.port?.stored(creates, null)
    try {
      await this.#env.store.hints.wake()
    } catch (error) {
      // The changes are committed: nodes find them by themselves.
      if (!isTransient(error)) throw error
    }
  }
}

/** All but the tenant and the transaction, which are those of the handler. */
function childNames(options: ChildOptions): string[] {
  return Object.keys(options ?? {}).filter((name) => name !== 'tenant' && name !== 'tx')
}
