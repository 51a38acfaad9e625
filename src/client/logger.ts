import type { Logger } from '../model/context.ts'
import { errorText } from '../model/error-record.ts'
import { systemClock } from '../time/clock.ts'
import { isoText } from '../time/instant.ts'

/** Warnings and errors as lines of JSON on standard error. No message can break out of its line. */
export const stderrLogger: Logger = lineLogger((line) => process.stderr.write(line))

/** Writes each warning and error as one line of JSON, with the time and the level in front. */
function lineLogger(write: (line: string) => unknown): Logger {
  const line = (level: 'warn' | 'error') => (message: string, fields?: object) =>
    void write(`${lineText(level, message, fields)}\n`)
  return { debug: () => {}, info: () => {}, warn: line('warn'), error: line('error') }
}

/** A field that JSON cannot hold, such as a bigint or a cycle, is written as text. */
function lineText(level: string, message: string, fields: object = {}): string {
  const head = { time: isoText(systemClock.wall()), level, message }
  try {
    return JSON.stringify({ ...head, ...fields, ...head })
  } catch {
    const written = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, writable(value)]))
    return JSON.stringify({ ...head, ...written, ...head })
  }
}

function writable(value: unknown): unknown {
  try {
    JSON.stringify(value)
    return value
  } catch {
    return errorText(value)
  }
}

/** A log that cannot hurt its callers: a line on which the user's own log throws or rejects goes to standard error. */
export function guarded(log: Logger): Logger {
  const line =
    (level: keyof Logger) =>
    (message: string, fields?: object): void => {
      const lost = (error: unknown) => stderrLogger.error('The log threw', { error: errorText(error), line: message })
      try {
        const returned: unknown = log[level](message, fields)
        if (returned instanceof Promise) returned.catch(lost)
      } catch (error) {
        lost(error)
      }
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}
