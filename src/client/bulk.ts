// Retries, discards and cancels of all work that a filter finds. Each is an occurrence of a built-in job: it shows its progress, can be
// canceled, and another node continues it after a crash: what was changed before does not match any more.
import { builtInPrefix } from '../engine/node/registry.ts'
import { PunctualError } from '../errors.ts'
import type { Context } from '../model/context.ts'
import { defineJob } from '../model/definition.ts'
import type { OccurrenceState } from '../model/lifecycle.ts'
import { checkNote, checkObject, checkOptions } from '../model/limits.ts'
import type { OccurrenceSummary } from '../model/occurrence.ts'
import { checkBoolean } from '../model/settings.ts'
import type { OccurrenceFilter } from '../store/query.ts'
import type { CreatedRow } from '../store/store.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { auditNote, type By, byNames, defaultActor } from './audit-note.ts'
import type { ClientEnv } from './client-env.ts'
import type { Commands } from './commands.ts'
import type { Creations } from './creations.ts'
import { checkDefined, type ListFilter, parseFilter } from './list-filter.ts'
import { type OperationPreview, pagesOf, previewOf } from './matching.ts'
import { newOccurrence } from './new-occurrence.ts'

/** Which work an operation over many is about. */
export type BulkFilter = Omit<ListFilter, 'limit' | 'cursor'>

/** The options of `discardAll` and `cancelAll`. */
export interface BulkOptions extends By {
  /** Only counts what would be changed. */
  dryRun?: boolean
}

/** The options of `retryAll`. */
export interface RetryAllOptions extends BulkOptions {
  /** Spreads the retries evenly over this time. Default: all at once. */
  spread?: DurationInput
}

/** The result of `retryAll`, `discardAll` or `cancelAll`. */
export interface BulkResult {
  /** How many occurrences it has changed. */
  readonly changed: number
  /** How many had changed by themselves meanwhile. */
  readonly unchanged: number
}

export type BulkKind = 'retry' | 'discard' | 'cancel'

interface BulkPayload {
  readonly filter: OccurrenceFilter
  readonly by: string
  readonly reason: string | null
  readonly spreadMs: number
}

const dead: readonly OccurrenceState[] = ['dead']
const live: readonly OccurrenceState[] = ['pending', 'waiting', 'running', 'retrying']
const statesOf: Readonly<Record<BulkKind, readonly OccurrenceState[]>> = { retry: dead, discard: dead, cancel: live }
const atOnce = 20

export class Bulk {
  readonly #env: ClientEnv
  readonly #creations: Creations
  readonly #commands: Commands

  constructor(env: ClientEnv, creations: Creations, commands: Commands) {
    this.#env = env
    this.#creations = creations
    this.#commands = commands
    for (const kind of ['retry', 'discard', 'cancel'] as const)
      env.registry.defineBuiltIn(defineJob<BulkPayload>(`${builtInPrefix}${kind}`).task('change', (ctx) => this.#run(kind, ctx)))
  }

  async start(kind: BulkKind, filter: BulkFilter, options: RetryAllOptions = {}): Promise<CreatedRow | OperationPreview> {
    const { parsed, request, isDry } = parseRequest(kind, filter, options)
    if (isDry) return previewOf(this.#env.store, parsed, isOwnWork)
    const { items } = await this.#env.store.list({ ...parsed, limit: 1 })
    if (items.length === 0)
      throw new PunctualError(
        'occurrence.unknown',
        `No ${statesOf[kind].join(', ')} occurrence matches the filter of ${kind}All`,
        {
          field: 'filter',
          filter: parsed,
        },
      )
    const row = await newOccurrence(this.#env, {
      job: `${builtInPrefix}${kind}`,
      ...(parsed.tenant !== undefined && { tenant: parsed.tenant }),
      payload: request,
    })
    return this.#creations.addAudited(row, auditNote(this.#env, kind, options))
  }

  async #run(kind: BulkKind, { payload, scheduledAt, signal, progress }: Context<BulkPayload>): Promise<BulkResult> {
    const { store } = this.#env
    // Work that dies again after its retry, or is created meanwhile, is not part of the request.
    const isMeant = (line: OccurrenceSummary) => isOwnWork(line) && (line.endedAt ?? line.createdAt) <= scheduledAt.getTime()
    const { acts } = await previewOf(store, payload.filter, isMeant)
    let [done, changed] = [0, 0]
    for await (const page of pagesOf(store, payload.filter)) {
      const meant = page.filter(isMeant)
      for (let at = 0; at < meant.length; at += atOnce) {
        signal.throwIfAborted()
        const group = meant.slice(at, at + atOnce)
        const delayOf = (index: number) => Math.round((payload.spreadMs * (done + index)) / Math.max(1, acts))
        const outcomes = await Promise.all(group.map(({ id }, i) => this.#change(kind, id, payload, delayOf(i))))
        done += group.length
        changed += outcomes.filter(Boolean).length
      }
      progress(Math.min(1, done / Math.max(1, acts)), `${done} of ${acts}`)
    }
    return { changed, unchanged: done - changed }
  }

  async #change(kind: BulkKind, id: string, { by, reason }: BulkPayload, delay: number): Promise<boolean> {
    const because = { by, ...(reason !== null && { reason }) }
    try {
      if (kind === 'retry') await this.#commands.retry(id, { delay, ...because })
      else if (kind === 'discard') await this.#commands.discard(id, because)
      else return ['canceled', 'canceling'].includes(await this.#commands.cancel(id, because))
      return true
    } catch (error) {
      const isGone = error instanceof PunctualError && ['occurrence.conflict', 'occurrence.unknown'].includes(error.code)
      if (isGone) return false
      throw error
    }
  }
}

/** Operations themselves are ended one by one. */
function isOwnWork({ job }: OccurrenceSummary): boolean {
  return !job.startsWith(builtInPrefix)
}

function parseRequest(kind: BulkKind, filter: BulkFilter, options: RetryAllOptions) {
  const where = `options of ${kind}All`
  checkObject(filter, `filter of ${kind}All`)
  checkDefined(filter, `${kind}All`)
  checkObject(options, where)
  checkOptions(options, kind === 'retry' ? ['dryRun', 'spread', ...byNames] : ['dryRun', ...byNames], where)
  const { limit: _, ...given } = parseFilter(filter)
  const states = given.states ?? statesOf[kind]
  const other = states.find((state) => !statesOf[kind].includes(state))
  if (other !== undefined)
    throw new PunctualError(
      'option.invalid',
      `${kind}All acts on work that is ${statesOf[kind].join(', ')}; the filter has state ${JSON.stringify(other)}`,
      { field: 'state', given: other, allowed: statesOf[kind] },
    )
  const parsed: OccurrenceFilter = { ...given, states, limit: 1 }
  const request: BulkPayload = {
    by: options.by === undefined ? defaultActor : checkNote(options.by, 'by'),
    filter: parsed,
    reason: options.reason === undefined ? null : checkNote(options.reason, 'reason'),
    spreadMs: options.spread === undefined ? 0 : parseDuration(options.spread, 'spread'),
  }
  return { parsed, request, isDry: checkBoolean(options.dryRun ?? false, 'dryRun') }
}
