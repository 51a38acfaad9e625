type Value = string | number

/** A condition with `?` for each of its values. It is left out where its value is not given. */
export type Condition = readonly [text: string, value: Value | readonly Value[] | undefined]

/** The conditions that are asked for as a WHERE clause, and their values. `mark` writes the placeholder of the n-th value. */
export function whereOf(
  conditions: readonly Condition[],
  mark: (n: number) => string,
): { readonly where: string; readonly values: readonly Value[] } {
  const given = conditions.filter(([, value]) => value !== undefined) as readonly (readonly [string, Value | readonly Value[]])[]
  let n = 0
  const where = given.map(([text]) => text.replaceAll('?', () => mark(n++))).join(' AND ')
  return { where: where && `WHERE ${where}`, values: given.flatMap(([, value]) => value) }
}
