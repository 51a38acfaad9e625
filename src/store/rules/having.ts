/** A test for records with the given fields. Those that are undefined may be anything. */
export function having<Fields extends object>(
  wanted: Fields,
): (record: { readonly [Name in keyof Fields]?: unknown }) => boolean {
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined) as [keyof Fields, unknown][]
  return (record) => given.every(([name, value]) => record[name] === value)
}
