// Arrays as PostgreSQL reads them. The driver's own way costs several times as much for long ones.

type Value = string | number | boolean | null

/** A column of a batch; null when there is nothing in it, which `unnest` fills up with NULL. */
export function column(values: readonly Value[]): string | null {
  let text = ''
  let isEmpty = true
  for (const value of values) {
    if (text !== '') text += ','
    if (value === null) text += 'NULL'
    else {
      isEmpty = false
      text += typeof value === 'string' ? quoted(value) : value
    }
  }
  return isEmpty && values.length > 0 ? null : `{${text}}`
}

/** The same for numbers, and for texts of which it is known that they hold nothing but letters, digits and hyphens. */
export function unquoted(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`
}

const needsEscape = /["\\]/

function quoted(value: string): string {
  return needsEscape.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`
}
