// An occurrence as a row. The limits of work without its own settings are in its form.
import type { OccurrenceRecord } from '../../../model/occurrence.ts'
import { type OccurrenceRow, extraOf as rareFields, occurrenceRecord as recordOf } from '../../rules/sql/occurrence-row.ts'
import type { FormFields } from '../names/form.ts'
import type { Names } from '../names/names.ts'

export const occurrenceColumns =
  'o.ref, o.id, o.series, o.form, o.scheduled_at, o.created_at, o.key, o.entity, o.parent, o.extra, o.payload'

export function formOf(record: OccurrenceRecord): FormFields {
  const { kind, version, source, unique, isHooked, priority, settings } = record
  const isShared = settings === null
  const limits = isShared && record.limits && record.limits.length > 0 ? record.limits : null
  const shared = {
    kind,
    version,
    source,
    unique,
    isHooked,
    priority,
    startWithinMs: isShared ? record.startWithinMs : null,
    limits,
  }
  return record.publish === undefined ? shared : { ...shared, publish: record.publish }
}

/** The kind's use that rows of the record make: the limits of some are not in their form. */
export function isGated({ limits }: Pick<OccurrenceRecord, 'limits'>): boolean {
  return limits !== null && limits.length > 0
}

/** The limits of work with its own settings are here: their keys may be as many as there are rows. */
export function extraOf(record: OccurrenceRecord): string | null {
  return rareFields(record.settings === null ? { ...record, limits: null, startWithinMs: null } : record)
}

/** The names behind the numbers must have been learned. */
export function occurrenceRecord(names: Names, row: OccurrenceRow, dueAt?: number): OccurrenceRecord {
  const form = names.formByRef(row.form)
  return recordOf(row, { form, series: names.seriesByRef(row.series), unique: form.unique, dueAt })
}
