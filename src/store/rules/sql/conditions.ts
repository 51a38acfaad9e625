/** A condition with `?` for each of its values. It is left out where its value is not given. */
type Condition = readonly [text: string, value: string | number | readonly (string | number)[] | undefined]

interface Where {
  readonly where: string
  readonly values: readonly (string | number)[]
}

/** The conditions that are asked for, and their values. `first`: the number of the first placeholder; without it, placeholders have none. */
export function whereOf(conditions: readonly Condition[], first?: number): Where {
  const given = conditions.flatMap(([text, value]) => (value === undefined ? [] : [{ text, values: [value].flat() }]))
  let next = first ?? 0
  const mark = () => (first === undefined ? '?' : `$${next++}`)
  const where = given.map(({ text }) => text.replaceAll('?', mark)).join(' AND ')
  return { where: where || 'true', values: given.flatMap(({ values }) => values) }
}

/** Which jobs a reader asks for. */
export interface JobFilter {
  readonly tenant?: string | undefined
  readonly job?: string | undefined
}

/** The same as a condition on the series `s`. */
export function seriesWhere({ tenant, job }: JobFilter, first?: number): Where {
  const conditions = { 's.tenant = ?': tenant, 's.job = ?': job }
  return whereOf(Object.entries(conditions), first)
}
