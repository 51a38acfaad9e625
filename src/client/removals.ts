// Deleting records on call. Retention deletes by itself.
import { PunctualError } from '../errors.ts'
import type { AnyDefinition } from '../model/definition.ts'
import { checkObject, checkOptions } from '../model/limits.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { auditNote, type By, byNames } from './audit-note.ts'
import type { ClientEnv } from './client-env.ts'
import type { JobTarget } from './job-commands.ts'
import { nameOf } from './job-name.ts'
import { type OccurrenceTarget, shownTarget, tenantOf, unknownOccurrence, whichOf } from './occurrence-target.ts'
import { unknownJob } from './unknown-job.ts'

const perCall = 1000

/** The options of `prune`. */
export interface PruneOptions extends By {
  /** Deletes ended occurrences that ended this long ago, whatever their jobs' retention. */
  olderThan: DurationInput
}

export class Removals {
  readonly #env: ClientEnv

  constructor(env: ClientEnv) {
    this.#env = env
  }

  async delete(target: OccurrenceTarget, options: By = {}): Promise<void> {
    checkObject(options, 'options of delete')
    checkOptions(options, byNames, 'options of delete')
    const { store, options: engine } = this.#env
    const { outcome } = await store.prune({
      endedBefore: null,
      keyRetentionMs: engine.keyRetentionMs,
      limit: 1,
      only: whichOf(target),
      audit: auditNote(this.#env, 'delete', options),
    })
    if (outcome === 'unknown') throw unknownOccurrence(target)
    if (outcome === 'live')
      throw new PunctualError(
        'occurrence.conflict',
        `Cannot delete the ${shownTarget(target)}: it has not ended; cancel it first`,
        {
          target,
        },
      )
  }

  /** Deletes a retired job with all of its records, in bounded steps. The number of deleted occurrences. */
  async deleteJob(job: AnyDefinition | string, options: JobTarget & By = {}): Promise<number> {
    checkObject(options, 'options of deleteJob')
    checkOptions(options, ['tenant', ...byNames], 'options of deleteJob')
    const { store, options: engine } = this.#env
    const target = { tenant: tenantOf(options), job: nameOf(job) }
    // One note for all steps: the audit has one row of it.
    const audit = auditNote(this.#env, 'delete', options)
    const [known] = await store.readJobs({ tenant: target.tenant, name: target.job, limit: 1 })
    if (known && !known.spec.isRetired) throw undeletable(target, 'it is not retired; retire it first')
    for (let count = 0; ; ) {
      const keyRetentionMs = engine.keyRetentionMs
      const step = await store.prune({ endedBefore: null, keyRetentionMs, limit: perCall, job: target, audit })
      count += step.pruned
      if (step.outcome === 'unknown') throw unknownJob(target.tenant, target.job)
      if (step.outcome === 'live') throw undeletable(target, 'some of its work has not ended; cancel it, or wait')
      if (!step.more) return count
    }
  }

  /** The number of deleted occurrences. */
  async prune(options: PruneOptions): Promise<number> {
    checkObject(options, 'options of prune')
    checkOptions(options, ['olderThan', ...byNames], 'options of prune')
    const ageMs = parseDuration(options.olderThan, 'olderThan')
    const { store, time, options: engine } = this.#env
    // A client that has not heard of the store's time yet learns it here.
    const { now } = await store.peek({ kinds: [] })
    const endedBefore = Math.max(now, time.now()) - ageMs
    let count = 0
    for (;;) {
      const audit = auditNote(this.#env, 'prune', options)
      const { pruned, more } = await store.prune({ endedBefore, keyRetentionMs: engine.keyRetentionMs, limit: perCall, audit })
      count += pruned
      if (!more) return count
    }
  }
}

function undeletable(target: { tenant: string; job: string }, why: string): PunctualError {
  return new PunctualError('job.conflict', `Cannot delete job ${JSON.stringify(target.job)}: ${why}`, target)
}
