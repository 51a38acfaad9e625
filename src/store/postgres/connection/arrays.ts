// Arrays as PostgreSQL reads them. The driver's own way costs several times as much for long ones.

type Value = string | number | boolean | null

/** A column of a batch; null when there is nothing in it, which `unnest` fills up with NULL. */
export function column(values: readonly Value[]): string | null {
  let text = ''
  let isEmpty = true
  for (const value of values) {
    if (text !== '') text += ','
    text += element(value)
    if (value !== null) isEmpty = false
  }
  return isEmpty && values.length > 0 ? null : `{${text}}`
}

/** The same for one place of many rows. */
export function columnOf(rows: readonly (readonly Value[])[], at: number): string | null {
  let text = ''
  let isEmpty = true
  for (const row of rows) {
    const value = row[at] as Value
    if (text !== '') text += ','
    text += element(value)
    if (value !== null) isEmpty = false
  }
  return isEmpty ? null : `{${text}}`
}

function element(value: Value): string | number | boolean {
  if (value === null) return 'NULL'
  return typeof value === 'string' ? quoted(value) : value
}

/** The same for numbers, and for texts of which it is known that they hold nothing but letters, digits and hyphens. */
export function unquoted(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`
}

const needsEscape = /["\\]/

function quoted(value: string): string {
  return needsEscape.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`
}
