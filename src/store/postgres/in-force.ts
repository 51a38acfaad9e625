// What the job says of work that is created: which version it belongs to, which kind of node can run it, and its limits.

import { defaultTenant, type JobSpec, kindOf, type VersionRecord, versionAt } from '../../model/job.ts'
import { declaredLimits, type Hold } from '../../model/limit.ts'
import type { NewOccurrence } from '../store.ts'
import type { Context } from './context.ts'

/** What is written of a new occurrence beside what the caller says. */
export interface Draft {
  /** The first of those that it is for. */
  readonly row: NewOccurrence
  readonly series: number
  readonly kind: string
  readonly version: number
  readonly holds: readonly Hold[] | null
  readonly startWithinMs: number | null
}

/** The jobs behind some new occurrences, as they were when last read, and within which time what they say is right. */
export class JobsInForce {
  readonly #context: Context
  readonly #now: number
  readonly #versions = new Map<number, VersionRecord | undefined>()
  #from = Number.NEGATIVE_INFINITY
  #until = Number.POSITIVE_INFINITY
  #last: Draft | null = null

  constructor(context: Context, now: number) {
    this.#context = context
    this.#now = now
  }

  /** The series that were asked about, and the window of time that the answers are good for. */
  get checked(): { readonly series: readonly number[]; readonly from: number; readonly until: number } {
    return { series: [...this.#versions.keys()], from: this.#from, until: this.#until }
  }

  /** The same for rows one after the other that are alike: those of a bulk enqueue nearly always are. */
  draft(row: NewOccurrence): Draft {
    if (this.#last === null || !isAlike(row, this.#last.row)) this.#last = this.#newDraft(row)
    return this.#last
  }

  #newDraft(row: NewOccurrence): Draft {
    const { dictionary } = this.#context
    const series = dictionary.series(row.tenant, row.job).ref
    const inForce = this.#inForce(series)
    const version = row.version ?? inForce?.version ?? 0
    const spec = this.#spec(series, version) ?? this.#inForce(dictionary.series(defaultTenant, row.definition).ref)?.spec
    const isDeclared = row.holds === 'declared'
    // A process that does not know the job may name it by itself; the definition is the job's.
    const definition = (isDeclared ? spec?.definition : undefined) ?? row.definition
    const limits = isDeclared
      ? declaredLimits(spec, row)
      : { holds: row.holds as readonly Hold[] | null, startWithinMs: row.startWithinMs }
    return { row, series, version, kind: spec?.definition === definition ? kindOf(spec) : definition, ...limits }
  }

  #spec(series: number, version: number): JobSpec | undefined {
    return this.#context.facts.versions(series)?.find((one) => one.version === version)?.spec
  }

  #inForce(series: number): VersionRecord | undefined {
    if (this.#versions.has(series)) return this.#versions.get(series)
    const versions = this.#context.facts.versions(series) ?? []
    const found = versions.length === 0 ? undefined : versionAt(versions, this.#now)
    this.#versions.set(series, found)
    for (const { version, effectiveAt } of versions) {
      if (effectiveAt > this.#now) this.#until = Math.min(this.#until, effectiveAt)
      else if (version === found?.version && version > 1) this.#from = Math.max(this.#from, effectiveAt)
    }
    return found
  }
}

/** Whether two differ in nothing but id, key, payload and due time, as far as can be told without looking into objects. */
function isAlike(one: NewOccurrence, other: NewOccurrence): boolean {
  return (
    one.tenant === other.tenant &&
    one.job === other.job &&
    one.definition === other.definition &&
    one.source === other.source &&
    one.unique === other.unique &&
    one.entity === other.entity &&
    one.refs === other.refs &&
    one.settings === other.settings &&
    one.priority === other.priority &&
    one.holds === other.holds &&
    one.replay === other.replay &&
    one.startWithinMs === other.startWithinMs &&
    one.version === other.version
  )
}
