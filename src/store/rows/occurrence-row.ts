// An occurrence as a row of a table: the same columns in every SQL store.
import { definitionOf } from '../../model/job.ts'
import type { Source } from '../../model/lifecycle.ts'
import type { OccurrenceRecord, UniqueKind } from '../../model/occurrence.ts'
import { fromJson } from './json.ts'

export const occurrenceColumns = `o.ref, o.id, o.series, o.kind, o.version, o.source, o.key, o.uniqueness, o.entity, o.refs, o.settings,
  o.priority, o.limits, o.span, o.replay, o.start_within_ms, o.scheduled_at, o.created_at, o.payload`
/** How many columns that is. */
export const occurrenceWidth = 19

export type OccurrenceRow = [
  ref: number,
  id: string,
  series: number,
  kind: number,
  version: number,
  source: Source,
  key: string | null,
  unique: UniqueKind,
  entity: string | null,
  refs: string | null,
  settings: string | null,
  priority: number,
  limits: string | null,
  span: string | null,
  replay: string | null,
  startWithinMs: number | null,
  scheduledAt: number,
  createdAt: number,
  payload: string | null,
]

/** The names behind the numbers in a row. */
export interface Names {
  kindName(kind: number): string
  seriesByRef(series: number): { readonly tenant: string; readonly job: string }
}

export function occurrenceRecord(names: Names, row: readonly [...OccurrenceRow, ...unknown[]]): OccurrenceRecord {
  // By number: a pattern with brackets would make an iterator for each row.
  const { 1: id, 2: series, 3: kind, 4: version, 5: source, 6: key, 7: unique, 8: entity, 9: refs, 10: settings } = row
  const { 11: priority, 12: limits, 13: span, 14: replay, 15: startWithinMs, 16: scheduledAt, 17: createdAt, 18: payload } = row
  const { tenant, job } = names.seriesByRef(series)
  const name = names.kindName(kind)
  return {
    id,
    tenant,
    job,
    definition: definitionOf(name),
    kind: name,
    version,
    source,
    key,
    unique,
    entity,
    refs: refs === null ? {} : JSON.parse(refs),
    payload,
    settings: fromJson(settings),
    priority,
    limits: fromJson(limits),
    span: fromJson(span),
    replay: fromJson(replay),
    startWithinMs,
    scheduledAt,
    createdAt,
  }
}
