import type { WireAuditRow } from '../../../../src/http/wire.ts'

export interface FieldChange {
  readonly field: string
  /** Null where there was nothing before. */
  readonly before: string | null
  readonly after: string
}

const longest = 80

/** The fields that differ between the two sides of a row; of a business event its refs and data. */
export function changesOf({ before, after, refs, data, event }: WireAuditRow): readonly FieldChange[] {
  const [old, next] = event === null ? [fieldsOf(before), fieldsOf(after)] : [{}, { ...refs, ...fieldsOf(data) }]
  return [...new Set([...Object.keys(old), ...Object.keys(next)])].flatMap((field) => {
    const [one, other] = [old[field], next[field]].map((value) => (value === undefined ? null : shown(value)))
    return one === other ? [] : [{ field, before: one ?? null, after: other ?? 'none' }]
  })
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  return value === null || value === undefined ? {} : { value }
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}
