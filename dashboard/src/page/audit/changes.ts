import type { WireAuditRow } from '../../../../src/http/wire.ts'

export interface FieldChange {
  readonly field: string
  /** Null where there was nothing before. */
  readonly before: FieldValue | null
  readonly after: FieldValue
}

/** A text, or an instant. */
export type FieldValue = string | number

const longest = 80

const instants = /(At|^from|^to|^until)$/
/** Said elsewhere in the row. */
const repeated = ['reason', 'by']

/** The fields that differ between the two sides of a row; of a business event its refs and data. */
export function changesOf({ before, after, refs, data, event }: WireAuditRow): readonly FieldChange[] {
  const [old, next] = event === null ? [fieldsOf(before), fieldsOf(after)] : [{}, { ...refs, ...fieldsOf(data) }]
  const fields = [...new Set([...Object.keys(old), ...Object.keys(next)])]
  return fields.flatMap((field) => {
    if (event === null && repeated.includes(field)) return []
    // That a row was created says nothing that its action does not.
    if (field === 'outcome' && next[field] === 'created') return []
    // Ended work is due no more.
    if (field === 'dueAt' && next[field] === 0) return []
    const [one, other] = [old[field], next[field]].map((value) => (value === undefined ? null : shown(field, value)))
    return one === other ? [] : [{ field, before: one ?? null, after: other ?? 'none' }]
  })
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  return value === null || value === undefined ? {} : { value }
}

function shown(field: string, value: unknown): FieldValue {
  if (typeof value === 'number' && value > 1e12 && instants.test(field)) return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}
