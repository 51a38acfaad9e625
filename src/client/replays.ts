// Replays of ended work. A replay of many is an occurrence of a built-in job: it shows its progress, can be canceled, and another node
// continues it after a crash, since the runs it creates have ids that come out the same every time.

import { builtInPrefix } from '../engine/node/registry.ts'
import { PunctualError } from '../errors.ts'
import type { Context } from '../model/context.ts'
import { defineJob } from '../model/definition.ts'
import { replayId, uuidV7 } from '../model/ids.ts'
import type { JobRecord, JobSpec } from '../model/job.ts'
import { checkKey, checkNote, checkOptions } from '../model/limits.ts'
import type { OccurrenceRecord, OccurrenceSummary, Replay } from '../model/occurrence.ts'
import { decodePayload } from '../model/payload.ts'
import { checkBoolean } from '../model/settings.ts'
import type { OccurrenceFilter } from '../store/query.ts'
import type { AuditNote, CreatedRow } from '../store/store.ts'
import { auditNote } from './audit-note.ts'
import type { OperationResult } from './backfills.ts'
import type { ClientEnv } from './client-env.ts'
import type { Creations } from './creations.ts'
import { hasSucceededSince } from './instant-runs.ts'
import { checkDefined, type ListFilter, parseFilter } from './list-filter.ts'
import { type OperationPreview, pagesOf, previewOf } from './matching.ts'
import { newOccurrence } from './new-occurrence.ts'
import { type OccurrenceTarget, unknownOccurrence, whichOf } from './occurrence-target.ts'

/** The options of `replay`. */
export interface ReplayOptions {
  /** Why: kept with the replay. */
  reason: string
  /** Runs only these tasks; what the others came to stands. */
  tasks?: readonly string[]
  /** Saying the same again under the same request creates nothing more. */
  request?: string
  /** The author of the request. Default `api`. */
  by?: string
}

/** The options of `replayAll`. */
export interface ReplayAllOptions {
  /** Why: kept with each replay. */
  reason: string
  /** Only counts what would be run again. */
  dryRun?: boolean
  /** The author of the request. Default `api`. */
  by?: string
}

interface ReplayPayload {
  readonly filter: OccurrenceFilter
  readonly reason: string
  readonly by: string
}

export class Replays {
  readonly #env: ClientEnv
  readonly #creations: Creations

  constructor(env: ClientEnv, creations: Creations) {
    this.#env = env
    this.#creations = creations
    env.registry.defineBuiltIn(defineJob<ReplayPayload>(`${builtInPrefix}replay`).task('create', (ctx) => this.#run(ctx)))
  }

  /** Runs an ended occurrence again, as a new one that is linked to it. */
  async replay(target: OccurrenceTarget, options: ReplayOptions): Promise<CreatedRow> {
    checkOptions(options, ['reason', 'tasks', 'request', 'by'], 'options of replay')
    const reason = checkNote(options?.reason, 'reason')
    const which = whichOf(target)
    const history = await this.#env.store.get(which)
    if (!history) throw unknownOccurrence(target)
    const { record, state } = history
    if (['pending', 'waiting', 'running', 'retrying'].includes(state)) {
      throw new PunctualError(
        'occurrence.conflict',
        `Occurrence ${record.id} is ${state}; only one that has ended can be replayed`,
        { id: record.id, state },
      )
    }
    const request =
      options.request === undefined ? uuidV7(this.#env.time.now(), this.#env.randomBytes) : checkKey(options.request, 'request')
    const [known] = await this.#env.store.readJobs({ tenant: record.tenant, name: record.job, limit: 1 })
    const tasks = options.tasks ? checkTasks(options.tasks, known, record.job) : null
    return this.#create(record, {
      id: replayId(record.id, request),
      replay: { origin: record.id, reason, tasks },
      spec: known?.spec,
      audit: auditNote(this.#env, 'replay', options),
    })
  }

  /** Runs again whatever a filter finds, under one reason. */
  async replayAll(filter: ListFilter, options: ReplayAllOptions): Promise<CreatedRow | OperationPreview> {
    checkOptions(options, ['reason', 'dryRun', 'by'], 'options of replayAll')
    checkDefined(filter, 'replayAll')
    const parsed = parseFilter({ ...filter, limit: 1 })
    const reason = checkNote(options?.reason, 'reason')
    if (checkBoolean(options.dryRun ?? false, 'dryRun'))
      return previewOf(this.#env.store, parsed, (line) => this.#isReplayed(line))
    const audit = auditNote(this.#env, 'replay', options)
    const row = await newOccurrence(this.#env, {
      job: `${builtInPrefix}replay`,
      ...(parsed.tenant !== undefined && { tenant: parsed.tenant }),
      payload: { filter: parsed, reason, by: audit.actor },
    })
    return this.#creations.addAudited(row, audit)
  }

  /** Creates a repetition of an occurrence, for the same instant and with the same payload and refs. */
  async #create(
    record: OccurrenceRecord,
    { id, replay, spec, audit }: { id: string; replay: Replay; spec: JobSpec | undefined; audit: AuditNote },
  ): Promise<CreatedRow> {
    const { job, tenant, definition, payload, refs, entity, scheduledAt } = record
    const request = { job, tenant, payload: decodePayload(payload), refs, ...(entity !== null && { entity }) }
    const row = await newOccurrence(this.#env, request, { source: 'replay', definition, id, replay, spec })
    return this.#creations.addAudited({ ...row, scheduledAt }, audit)
  }

  async #run({ payload, occurrenceId, signal, progress }: Context<ReplayPayload>): Promise<OperationResult> {
    const { filter, reason, by } = payload
    const { matches } = await previewOf(this.#env.store, filter, () => false)
    let [seen, created] = [0, 0]
    for await (const page of pagesOf(this.#env.store, filter)) {
      signal.throwIfAborted()
      for (const line of page) {
        if (!(await this.#isReplayed(line))) continue
        if ((await this.replay(line.id, { reason, by, request: occurrenceId })).outcome === 'created') created++
      }
      seen += page.length
      progress(Math.min(1, seen / Math.max(1, matches)), `${created} replays`)
    }
    return { created }
  }

  /** Whether `replayAll` runs it again: it has ended, is no repetition itself, and its instant has not succeeded since. */
  async #isReplayed(line: OccurrenceSummary): Promise<boolean> {
    const { job, state, source } = line
    const isLive = ['pending', 'waiting', 'running', 'retrying'].includes(state)
    if (isLive || source === 'replay' || job.startsWith(builtInPrefix)) return false
    return !(await hasSucceededSince(this.#env.store, line))
  }
}

/** Each task that is run again must have what it builds on: succeeded before, or run again too. */
function checkTasks(tasks: readonly string[], known: JobRecord | undefined, job: string): readonly string[] {
  const allowed = known?.spec.tasks.map(({ name }) => name) ?? []
  for (const task of tasks) {
    if (!allowed.includes(task))
      throw new PunctualError(
        'task.unknown',
        `Job ${JSON.stringify(job)} has no task ${JSON.stringify(task)}; it has ${allowed.join(', ')}`,
        { field: 'tasks', job, task, allowed },
      )
  }
  return tasks
}
