import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

export const mistakesFile = join(import.meta.dirname, 'mistakes.ts')

/** Each mistake of mistakes.ts is on the line below the text that the compiler must show for it. */
export function mistakesOf(text = readFileSync(mistakesFile, 'utf8')) {
  const lines = text.split('\n')
  return lines.flatMap((line, at) =>
    line.trim().startsWith('// says: ') ? [{ at: at + 2, says: line.trim().slice(9), code: lines[at + 1]?.trim() }] : [],
  )
}

/** The text of the compiler by the line of mistakes.ts, from its output with `--pretty`, which is what an editor shows. */
export function textByLine(output: string): Map<number, string> {
  const shown = new Map<number, string>()
  let last = 0
  for (const line of stripVTControlCharacters(output).split('\n')) {
    const [, number, text = line] = /mistakes\.ts:(\d+):\d+ - error TS\d+: (.*)/.exec(line) ?? []
    if (number !== undefined) last = Number(number)
    shown.set(last, `${shown.get(last) ?? ''}${text}\n`)
  }
  return shown
}
