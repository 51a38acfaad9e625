// The tables of an earlier page, for those that are not measured again, or only in part.

/** The tables of a written page: heading and text, in order. */
export function sectionsOf(page: string): [heading: string, text: string][] {
  return page
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const end = section.indexOf('\n')
      return [section.slice(0, end), section.slice(end).trim()]
    })
}

/** The rows of a table with those of its earlier text: a row with the same first cell is measured anew and replaces it. */
export function withEarlierRows(section: string, rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const earlier = section
    .split('\n')
    .filter((line) => line.startsWith('| '))
    // Without the names of the columns and the line below them.
    .slice(2)
    .map((line) => line.slice(2, -2).split(' | '))
  const measured = new Map(rows.map((row) => [row[0], row]))
  const names = new Set(earlier.map(([name]) => name))
  return [...earlier.map((row) => measured.get(row[0]) ?? row), ...rows.filter(([name]) => !names.has(name))]
}
