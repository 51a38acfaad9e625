// An occurrence as a row: what many rows share is their form, what few rows have is `extra`. The same in every SQL store.
import type { Source } from '../../../model/lifecycle.ts'
import type { OccurrenceRecord } from '../../../model/occurrence.ts'

export interface OccurrenceRow {
  readonly ref: number
  readonly id: string
  readonly series: number
  readonly form: number
  readonly scheduled_at: number
  readonly created_at: number
  readonly key: string | null
  /** 1 for a key that is free again when its occurrence ends. */
  readonly live: number
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
}

/** The parts of a record that few rows have. */
type Extra = Partial<Pick<OccurrenceRecord, 'refs' | 'settings' | 'limits' | 'span' | 'replay' | 'startWithinMs' | 'keyVersion'>>

export function extraOf(record: OccurrenceRecord): string | null {
  const { refs, settings, limits, span, replay, startWithinMs, keyVersion } = record
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

const none: Extra = {}

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

export function occurrenceRecord(row: OccurrenceRow, form: Form, job: { tenant: string; job: string }): OccurrenceRecord {
  const extra = row.extra === null ? none : parsedExtra(row.extra)
  return {
    id: row.id,
    tenant: job.tenant,
    job: job.job,
    definition: form.definition,
    kind: form.kind,
    version: form.version,
    source: form.source,
    key: row.key,
    unique: row.live === 1 ? 'live' : 'ever',
    ...(extra.keyVersion !== undefined && { keyVersion: extra.keyVersion }),
    entity: row.entity,
    parent: row.parent,
    refs: extra.refs ?? {},
    payload: row.payload,
    settings: extra.settings ?? null,
    priority: form.priority,
    limits: extra.limits ?? null,
    span: extra.span ?? null,
    replay: extra.replay ?? null,
    startWithinMs: extra.startWithinMs ?? null,
    isHooked: form.isHooked,
    ...(form.publish !== undefined && { publish: form.publish }),
    scheduledAt: row.scheduled_at,
    createdAt: row.created_at,
  }
}
