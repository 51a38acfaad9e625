import { createHash } from 'node:crypto'
import { definitionOf } from '../../../model/job.ts'
import type { Source } from '../../../model/lifecycle.ts'
import type { Limit } from '../../../model/limit.ts'
import type { UniqueKind } from '../../../model/occurrence.ts'
import { fromJson } from '../../rules/sql/json.ts'

/** The fields that many occurrences share. */
export interface FormFields {
  readonly kind: string
  readonly version: number
  readonly source: Source
  readonly unique: UniqueKind
  readonly isHooked: boolean
  readonly priority: number
  readonly startWithinMs: number | null
  readonly limits: readonly Limit[] | null
  readonly publish?: string
}

export interface Form extends FormFields {
  readonly ref: number
  readonly definition: string
  /** The number of the kind. */
  readonly kindRef: number
}

export interface FormRow {
  readonly ref: number
  readonly kind: number
  /** The kind's. */
  readonly name: string
  readonly version: number
  readonly source: Source
  readonly uniqueness: UniqueKind
  readonly hooked: boolean
  readonly priority: number
  readonly start_within_ms: number | null
  readonly limits: string | null
  readonly publish: string | null
}

export function formOfRow({ ref, kind, name, version, source, priority, publish, ...row }: FormRow): Form {
  return {
    ...{ ref, kindRef: kind, kind: name, definition: definitionOf(name), version, source, priority },
    ...{ unique: row.uniqueness, isHooked: row.hooked, startWithinMs: row.start_within_ms, limits: fromJson(row.limits) },
    ...(publish !== null && { publish }),
  }
}

/** The order of the fields is fixed, so equal forms have equal texts. */
export function formText({
  kind,
  version,
  source,
  unique,
  isHooked,
  priority,
  startWithinMs,
  limits,
  publish,
}: FormFields): string {
  return JSON.stringify([kind, version, source, unique, isHooked, priority, startWithinMs, limits, publish])
}

export function digestOf(form: FormFields): string {
  return createHash('md5').update(formText(form)).digest('base64url')
}
