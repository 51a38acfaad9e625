// An occurrence as a row: the one place that knows which of its fields are in the form, in columns and in `extra`.

import { definitionOf } from '../../../model/job.ts'
import type { Limit } from '../../../model/limit.ts'
import type { OccurrenceRecord } from '../../../model/occurrence.ts'
import type { FormFields, Names } from '../names/names.ts'

export const occurrenceColumns =
  'o.ref, o.id, o.series, o.form, o.scheduled_at, o.created_at, o.key, o.entity, o.extra, o.payload'

export type OccurrenceRow = [
  ref: number,
  id: string,
  series: number,
  form: number,
  scheduledAt: number,
  createdAt: number,
  key: string | null,
  entity: string | null,
  extra: string | null,
  payload: string | null,
]

/** The rare fields. Work with own settings has its limits here: their keys may be as many as there are rows. */
interface Extra {
  readonly settings?: OccurrenceRecord['settings']
  readonly limits?: readonly Limit[] | null
  readonly startWithinMs?: number | null
  readonly refs?: OccurrenceRecord['refs']
  readonly span?: OccurrenceRecord['span']
  readonly replay?: OccurrenceRecord['replay']
}

export function formOf(record: OccurrenceRecord): FormFields {
  const { kind, version, source, unique, isHooked, priority, settings } = record
  const isShared = settings === null
  const limits = isShared && record.limits && record.limits.length > 0 ? record.limits : null
  return { kind, version, source, unique, isHooked, priority, startWithinMs: isShared ? record.startWithinMs : null, limits }
}

/** The kind's use that rows of the record make: the limits of some are not in their form. */
export function isGated({ limits }: Pick<OccurrenceRecord, 'limits'>): boolean {
  return limits !== null && limits.length > 0
}

/** The JSON text of the rare fields; null where there are none, as in most rows. */
export function extraOf({ settings, limits, startWithinMs, refs, span, replay }: OccurrenceRecord): string | null {
  const extra: Extra = {
    ...(settings !== null && { settings, limits, startWithinMs }),
    ...(Object.keys(refs).length > 0 && { refs }),
    ...(span !== null && { span }),
    ...(replay !== null && { replay }),
  }
  return Object.keys(extra).length === 0 ? null : JSON.stringify(extra)
}

/** The names behind the numbers must have been learned. */
export function occurrenceRecord(names: Names, row: readonly [...OccurrenceRow, ...unknown[]]): OccurrenceRecord {
  const [, id, series, form, scheduledAt, createdAt, key, entity, extraText, payload] = row
  const { tenant, job } = names.seriesByRef(series)
  const { kind, version, source, unique, isHooked, priority, startWithinMs, limits } = names.formByRef(form)
  const extra = extraText === null ? noExtra : (JSON.parse(extraText) as Extra)
  const isShared = extra.settings === undefined
  return {
    id,
    tenant,
    job,
    definition: definitionOf(kind),
    kind,
    version,
    source,
    key,
    unique,
    entity,
    refs: extra.refs ?? {},
    payload,
    settings: extra.settings ?? null,
    priority,
    limits: isShared ? limits : (extra.limits ?? null),
    span: extra.span ?? null,
    replay: extra.replay ?? null,
    startWithinMs: isShared ? startWithinMs : (extra.startWithinMs ?? null),
    isHooked,
    scheduledAt,
    createdAt,
  }
}

const noExtra: Extra = {}
