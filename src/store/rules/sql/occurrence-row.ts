// An occurrence as a row: what many rows share is their form, what few rows have is `extra`. The same in every SQL store.
import type { Source } from '../../../model/lifecycle.ts'
import type { OccurrenceRecord } from '../../../model/occurrence.ts'

export interface OccurrenceRow {
  readonly ref: number
  readonly id: string
  readonly series: number
  readonly form: number
  /** Null where it is the due time. */
  readonly scheduled_at: number | null
  /** Null as above. */
  readonly created_at: number | null
  readonly key: string | null
  readonly entity: string | null
  readonly parent: string | null
  readonly payload: string | null
  readonly extra: string | null
}

/** The parts of a record that many rows share. */
export interface Form {
  readonly definition: string
  readonly kind: string
  readonly version: number
  readonly source: Source
  readonly priority: number
  readonly isHooked: boolean
  readonly publish?: string | undefined
  /** Where a store keeps them here, `extra` has those of work with its own settings. */
  readonly limits?: OccurrenceRecord['limits']
  readonly startWithinMs?: number | null
}

/** The parts of a record that few rows have. */
type Extra = Partial<Pick<OccurrenceRecord, 'refs' | 'settings' | 'limits' | 'span' | 'replay' | 'startWithinMs' | 'keyVersion'>>

/** The JSON text of the rare fields; null where there are none, as in most rows. */
export function extraOf({ refs, settings, limits, span, replay, startWithinMs, keyVersion }: OccurrenceRecord): string | null {
  let hasRefs = false
  for (const _ in refs) hasRefs = true
  const isPlain = settings === null && limits === null && span === null && replay === null && startWithinMs === null
  if (!hasRefs && isPlain && keyVersion === undefined) return null
  const extra: Extra = {
    ...(hasRefs && { refs }),
    ...(settings && { settings }),
    ...(limits && { limits }),
    ...(span && { span }),
    ...(replay && { replay }),
    ...(startWithinMs !== null && { startWithinMs }),
    ...(keyVersion !== undefined && { keyVersion }),
  }
  return JSON.stringify(extra)
}

/** The version that a row keeps in `extra`. */
export function keyVersionIn(extra: string | null): number | undefined {
  return extra === null ? undefined : parsedExtra(extra).keyVersion
}

const none: Extra = {}
const noRefs: OccurrenceRecord['refs'] = Object.freeze({})

/** Rows of one limit key mostly have the same text. */
const parsed = new Map<string, Extra>()
const mostParsed = 1000

function parsedExtra(text: string): Extra {
  const known = parsed.get(text)
  if (known) return known
  const extra: Extra = JSON.parse(text)
  if (parsed.size >= mostParsed) parsed.clear()
  parsed.set(text, extra)
  return extra
}

interface Named {
  readonly form: Form
  readonly series: Pick<OccurrenceRecord, 'tenant' | 'job'>
  readonly unique: OccurrenceRecord['unique']
  /** The instant of a row that has none. */
  readonly dueAt?: number | undefined
}

export function occurrenceRecord(row: OccurrenceRow, { form, series, unique, dueAt = Number.NaN }: Named): OccurrenceRecord {
  const extra = row.extra === null ? none : parsedExtra(row.extra)
  return {
    id: row.id,
    tenant: series.tenant,
    job: series.job,
    definition: form.definition,
    kind: form.kind,
    version: form.version,
    source: form.source,
    key: row.key,
    unique,
    ...(extra.keyVersion !== undefined && { keyVersion: extra.keyVersion }),
    entity: row.entity,
    parent: row.parent,
    refs: extra.refs ?? noRefs,
    payload: row.payload,
    settings: extra.settings ?? null,
    priority: form.priority,
    limits: extra.limits ?? form.limits ?? null,
    span: extra.span ?? null,
    replay: extra.replay ?? null,
    startWithinMs: extra.startWithinMs ?? form.startWithinMs ?? null,
    isHooked: form.isHooked,
    ...(form.publish !== undefined && { publish: form.publish }),
    scheduledAt: row.scheduled_at ?? dueAt,
    createdAt: row.created_at ?? dueAt,
  }
}
