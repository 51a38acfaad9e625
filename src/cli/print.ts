// All that the commands write. Colour only where a terminal shows it: `styleText` heeds NO_COLOR and the stream.
import { styleText } from 'node:util'
import type { KeyView } from '../client/keys.ts'
import { PunctualError } from '../errors.ts'
import type { OccurrenceState } from '../model/lifecycle.ts'

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2))
}

export function printError(error: Error, asJson: boolean): void {
  const { code, details } = error instanceof PunctualError ? error : { code: 'command.failed', details: {} }
  const text = asJson
    ? JSON.stringify({ error: { code, message: error.message, details } }, null, 2)
    : `${styleText('red', 'error:', { stream: process.stderr })} ${error.message.split('\n').map(visible).join('\n')} (${code})`
  process.stderr.write(`${text}\n`)
}

/** Something worth knowing that is no part of the answer. */
export function printNote(text: string): void {
  process.stderr.write(`${styleText('yellow', 'note:', { stream: process.stderr })} ${visible(text)}\n`)
}

/** Columns under their titles, as wide as their longest cell; the last one is left ragged. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(visible))
  const widths = titles.map((title, column) => Math.max(title.length, ...cells.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[], style: (cell: string, column: number) => string) =>
    row
      .map(
        (cell, column) =>
          style(cell, column) + ' '.repeat(column === row.length - 1 ? 0 : (widths[column] as number) - cell.length),
      )
      .join('  ')
      .trimEnd()
  return [line(titles, bold), ...cells.map((row) => line(row, (cell) => coloured(cell)))].join('\n')
}

/** Names and values below each other; those without a value are left out. */
export function facts(pairs: readonly (readonly [name: string, value: string])[]): string {
  const shown = pairs.filter(([, value]) => value !== '' && value !== 'null')
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `  ${name.padEnd(width)}  ${coloured(visible(value))}`).join('\n')
}

/** What would steer the terminal, or turn the reading direction, is shown as its code. */
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

/** An instant in UTC, to the second. */
export function instant(at: Date | null | undefined): string {
  return at ? `${at.toISOString().slice(0, 19).replace('T', ' ')}Z` : ''
}

/** The key of a line, and whether it is one that is remembered. */
export function keyText({ key, idempotencyKey }: KeyView): string {
  return key ?? (idempotencyKey === null ? '' : `${idempotencyKey} (idempotent)`)
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
