import { facts, isoInstant, table } from '../print.ts'

/** A title, and the cell of an item: a field, or a function of it. */
export type Column<Item = never> = readonly [
  title: string,
  cell: (string & keyof Item) | ((item: Item) => string | number | null | undefined),
]

export function itemTable<Item extends object>(items: readonly Item[], columns: readonly Column<Item>[]): string {
  return table(
    columns.map(([title]) => title),
    items.map((item) => columns.map(([, cell]) => text(typeof cell === 'function' ? cell(item) : item[cell]))),
  )
}

/** Columns for a list that has no form: its first fields with simple values. */
export function plainColumns<Item extends object>(items: readonly Item[]): readonly Column<Item>[] {
  const isPlain = (name: keyof Item) => items.every((item) => item[name] === null || typeof item[name] !== 'object')
  return (Object.keys(items[0] ?? {}) as (string & keyof Item)[])
    .filter(isPlain)
    .slice(0, 8)
    .map((name) => [titleOf(name), name])
}

/** An answer that has no form: its simple values one below the other, its lists as tables. */
export function plainPage(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return text(answer)
  const entries = Object.entries(answer)
  const lists = entries.filter(([, value]) => Array.isArray(value) && value.some((one) => typeof one === 'object'))
  const rest = entries.filter((entry) => !lists.includes(entry))
  const tables = lists.map(
    ([name, items]) => `\n${titleOf(name)}\n${itemTable(items as readonly object[], plainColumns(items as readonly object[]))}`,
  )
  return [facts(rest.map(([name, value]) => [titleOf(name).toLowerCase(), text(value)])), ...tables].join('\n')
}

function titleOf(name: string): string {
  return name
    .replace(/At$/, '')
    .replace(/[A-Z]/g, (letter) => ` ${letter}`)
    .toUpperCase()
}

/** A value in a cell: instants to the second, objects as JSON. */
export function text(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return isoInstant(value)
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
