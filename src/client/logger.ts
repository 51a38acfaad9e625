import type { Logger } from '../model/context.ts'
import { systemClock } from '../time/clock.ts'
import { isoText } from '../time/instant.ts'

/** Warnings and errors as lines of JSON on standard error. No message can break out of its line. */
export const stderrLogger: Logger = lineLogger((line) => process.stderr.write(line))

/** Writes each warning and error as one line of JSON, with the time and the level in front. */
export function lineLogger(write: (line: string) => unknown): Logger {
  const line = (level: 'warn' | 'error') => (message: string, fields?: object) =>
    void write(`${lineText(level, message, fields)}\n`)
  return { debug: () => {}, info: () => {}, warn: line('warn'), error: line('error') }
}

function lineText(level: string, message: string, fields: object = {}): string {
  const head = { time: isoText(systemClock.wall()), level, message }
  try {
    return JSON.stringify({ ...head, ...fields, ...head }, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
  } catch (error) {
    return JSON.stringify({ ...head, unwritable: String(error) })
  }
}
