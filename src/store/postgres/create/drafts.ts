// Drafts of new rows, by the known versions of their jobs. Rows of a bulk enqueue are alike but for id, key, payload and due time:
// what they share is worked out once.
import { type JobSpec, type VersionRecord, versionAt } from '../../../model/job.ts'
import type { OccurrenceRecord } from '../../../model/occurrence.ts'
import { draftCreated, ownJobOf, versionFor } from '../../rules/draft.ts'
import type { NewOccurrence } from '../../store.ts'
import type { Context } from '../context.ts'
import type { FormFields } from '../names/form.ts'
import { extraOf, formOf, isGated } from '../occurrence/record.ts'

/** The common part of alike rows. Of its record, id, key, payload and instants are those of the first. */
export interface Draft {
  readonly row: NewOccurrence
  readonly series: number
  readonly record: OccurrenceRecord
  readonly form: FormFields
  readonly isGated: boolean
  readonly extra: string | null
}

/** The jobs behind new rows, as they were when last read, and the time within which what they say is right. */
export class Drafts {
  readonly #context: Context
  readonly #now: number
  readonly #versions = new Map<number, readonly VersionRecord[]>()
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

  of(row: NewOccurrence): Draft {
    if (this.#last === null || !isAlike(row, this.#last.row)) this.#last = this.#newDraft(row)
    return this.#last
  }

  #newDraft(row: NewOccurrence): Draft {
    const { names } = this.#context
    const series = names.series(row.tenant, row.job).ref
    const versions = this.#versionsOf(series)
    const version = versionFor(row, versions.length > 0 ? versions : undefined, this.#now)
    const spec = versions.find((one) => one.version === version)?.spec ?? this.#ownSpec(row)
    const record = draftCreated(row, { version, spec, dueAt: 0, now: 0 })
    return { row, series, record, form: formOf(record), isGated: isGated(record), extra: extraOf(record) }
  }

  #ownSpec(row: NewOccurrence): JobSpec | undefined {
    const { tenant, name } = ownJobOf(row)
    const own = this.#versionsOf(this.#context.names.series(tenant, name).ref)
    return own.length > 0 ? versionAt(own, this.#now).spec : undefined
  }

  #versionsOf(series: number): readonly VersionRecord[] {
    const known = this.#versions.get(series)
    if (known) return known
    const versions = this.#context.versions.of(series) ?? []
    this.#versions.set(series, versions)
    const found = versions.length > 0 ? versionAt(versions, this.#now) : null
    for (const { version, effectiveAt } of versions) {
      if (effectiveAt > this.#now) this.#until = Math.min(this.#until, effectiveAt)
      else if (version === found?.version && version > 1) this.#from = Math.max(this.#from, effectiveAt)
    }
    return versions
  }
}

/** Whether two rows differ in nothing but id, key, payload and due time, as far as can be told without looking into objects. */
function isAlike(one: NewOccurrence, other: NewOccurrence): boolean {
  return (
    one.tenant === other.tenant &&
    one.job === other.job &&
    one.definition === other.definition &&
    one.source === other.source &&
    one.unique === other.unique &&
    one.entity === other.entity &&
    one.parent === other.parent &&
    one.refs === other.refs &&
    one.settings === other.settings &&
    one.priority === other.priority &&
    one.limits === other.limits &&
    one.replay === other.replay &&
    one.startWithinMs === other.startWithinMs &&
    one.isHooked === other.isHooked &&
    one.version === other.version &&
    one.keyVersion === other.keyVersion &&
    one.publish === other.publish
  )
}
