// All that the commands write. Colour only where a terminal shows it: `styleText` heeds NO_COLOR and the stream.
import { styleText } from 'node:util'
import type { KeyView } from '../client/keys.ts'
import { PunctualError } from '../errors.ts'
import { Refusal } from '../http/problem.ts'
import type { OccurrenceState } from '../model/lifecycle.ts'

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2))
}

export function printError(error: Error, asJson: boolean): void {
  const { code, details } =
    error instanceof PunctualError || error instanceof Refusal ? error : { code: 'command.failed', details: {} }
  const text = asJson
    ? JSON.stringify({ error: { code, message: error.message, details } }, null, 2)
    : `${styleText('red', 'error:', { stream: process.stderr })} ${error.message.split('\n').map(visible).join('\n')} (${code})`
  process.stderr.write(`${text}\n`)
}

/** Something worth knowing that is no part of the answer. */
export function printNote(text: string): void {
  process.stderr.write(`${styleText('yellow', 'note:', { stream: process.stderr })} ${visible(text)}\n`)
}

/**
 * Columns under their titles, as wide as their longest cell. On a terminal the widest are cut until a row fits, and a
 * terminal too narrow for that gets the cells one below the other.
 */
export function table(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  room: number | undefined = process.stdout.isTTY ? process.stdout.columns : undefined,
): string {
  const cells = rows.map((row) => row.map(visible))
  const needed = titles.map((title, column) => Math.max(title.length, ...cells.map((row) => row[column]?.length ?? 0)))
  const widths = room === undefined ? needed : fitted(needed, titles, room)
  if (!widths) return cells.map((row) => facts(row.map((cell, column) => [titles[column] as string, cell]))).join('\n\n')
  const line = (row: readonly string[], style: (cell: string) => string) =>
    row
      .map((cell, column) => {
        const width = widths[column] as number
        const shown = cell.length > width ? `${cell.slice(0, width - 1).toWellFormed()}…` : cell
        return style(shown) + ' '.repeat(column === row.length - 1 ? 0 : width - shown.length)
      })
      .join('  ')
      .trimEnd()
  return [line(titles, bold), ...cells.map((row) => line(row, coloured))].join('\n')
}

/** Takes width from the widest columns until all fit; none becomes narrower than its title, and ids stay whole. Null: there is no room. */
function fitted(needed: readonly number[], titles: readonly string[], room: number): readonly number[] | null {
  const widths = [...needed]
  const least = titles.map((title, column) => (title === 'ID' ? (needed[column] as number) : Math.max(title.length, 8)))
  let over = widths.reduce((sum, width) => sum + width + 2, -2) - room
  while (over > 0) {
    const slack = widths.map((width, column) => width - (least[column] as number))
    const widest = slack.indexOf(Math.max(...slack))
    if ((slack[widest] as number) <= 0) return null
    widths[widest] = (widths[widest] as number) - 1
    over -= 1
  }
  return widths
}

/** Names and values below each other; those without a value are left out. */
export function facts(pairs: readonly (readonly [name: string, value: string])[]): string {
  const shown = pairs.filter(([, value]) => value !== '' && value !== 'null')
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `  ${name.padEnd(width)}  ${coloured(visible(value))}`).join('\n')
}

/** Shows characters that steer the terminal, or turn the reading direction, as their codes. */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  )
}

export function bold(text: string): string {
  return styled('bold', text)
}

export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

/** A text that is an instant, to the second; other texts stay as they are. */
export function isoInstant(text: string | null): string {
  return text === null ? '' : text.replace(/^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})\.\d+Z$/, '$1 $2Z')
}

/** The key of a line, and whether it is one that is remembered. */
export function keyText({ key, idempotencyKey }: KeyView): string {
  return key ?? (idempotencyKey === null ? '' : `${idempotencyKey} (idempotent)`)
}

/** A number with its noun. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

type Style = 'bold' | 'green' | 'red' | 'blue' | 'yellow'

const colours: Partial<Record<OccurrenceState, Style>> = {
  completed: 'green',
  failed: 'red',
  dead: 'red',
  running: 'blue',
  retrying: 'yellow',
}

/** A cell that is the name of a state wears its colour. */
function coloured(cell: string): string {
  const colour = colours[cell as OccurrenceState]
  return colour ? styled(colour, cell) : cell
}
