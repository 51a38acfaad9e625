// An occurrence as a row: the one place that knows which of its fields are in the form, in columns and in `extra`.

import type { Limit } from '../../../model/limit.ts'
import type { OccurrenceRecord } from '../../../model/occurrence.ts'
import type { FormFields } from '../names/form.ts'
import type { Names } from '../names/names.ts'

export const occurrenceColumns =
  'o.ref, o.id, o.series, o.form, o.scheduled_at, o.created_at, o.key, o.entity, o.parent, o.extra, o.payload'

export interface OccurrenceRow {
  readonly ref: number
  readonly id: string
  readonly series: number
  readonly form: number
  /** Null in a claim: that of the due time, as in most rows. */
  readonly scheduled_at: number | null
  /** Null as above. */
  readonly created_at: number | null
  readonly key: string | null
  readonly entity: string | null
  readonly parent: string | null
  readonly extra: string | null
  readonly payload: string | null
}

/** The rare fields. Work with own settings has its limits here: their keys may be as many as there are rows. */
interface Extra {
  readonly settings?: OccurrenceRecord['settings']
  readonly limits?: readonly Limit[] | null
  readonly startWithinMs?: number | null
  readonly refs?: OccurrenceRecord['refs']
  readonly span?: OccurrenceRecord['span']
  readonly replay?: OccurrenceRecord['replay']
  readonly keyVersion?: number
}

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

/** The JSON text of the rare fields; null where there are none, as in most rows. */
export function extraOf({ settings, limits, startWithinMs, refs, span, replay, keyVersion }: OccurrenceRecord): string | null {
  const extra: Extra = {
    ...(settings !== null && { settings, limits, startWithinMs }),
    ...(Object.keys(refs).length > 0 && { refs }),
    ...(span !== null && { span }),
    ...(replay !== null && { replay }),
    ...(keyVersion !== undefined && { keyVersion }),
  }
  return Object.keys(extra).length === 0 ? null : JSON.stringify(extra)
}

/** The names behind the numbers must have been learned. */
export function occurrenceRecord(names: Names, row: OccurrenceRow, dueAt = Number.NaN): OccurrenceRecord {
  const { id, key, entity, parent, payload } = row
  const { tenant, job } = names.seriesByRef(row.series)
  const { definition, kind, version, source, unique, isHooked, priority, startWithinMs, limits, publish } = names.formByRef(
    row.form,
  )
  const extra = row.extra === null ? noExtra : (JSON.parse(row.extra) as Extra)
  const isShared = extra.settings === undefined
  return {
    id,
    tenant,
    job,
    definition,
    kind,
    version,
    source,
    key,
    unique,
    ...(extra.keyVersion !== undefined && { keyVersion: extra.keyVersion }),
    entity,
    parent,
    refs: extra.refs ?? noRefs,
    payload,
    settings: extra.settings ?? null,
    priority,
    limits: isShared ? limits : (extra.limits ?? null),
    span: extra.span ?? null,
    replay: extra.replay ?? null,
    startWithinMs: isShared ? startWithinMs : (extra.startWithinMs ?? null),
    isHooked,
    ...(publish !== undefined && { publish }),
    scheduledAt: row.scheduled_at ?? dueAt,
    createdAt: row.created_at ?? dueAt,
  }
}

/** The version that a row keeps in `extra`. */
export function keyVersionIn(extra: string | null): number | undefined {
  return extra === null ? undefined : (JSON.parse(extra) as Extra).keyVersion
}

const noExtra: Extra = {}
const noRefs: OccurrenceRecord['refs'] = Object.freeze({})
