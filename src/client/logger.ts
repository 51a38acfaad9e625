import type { Logger } from '../model/context.ts'
import { errorText } from '../model/error-record.ts'

/** Warnings and errors as lines of JSON on standard error, so that no message can break out of its line. */
export const stderrLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, fields) => write('warn', message, fields),
  error: (message, fields) => write('error', message, fields),
}

function write(level: string, message: string, fields: object = {}): void {
  process.stderr.write(`${line({ level, message, ...fields })}\n`)
}

/** A field that JSON cannot hold, such as a bigint or a cycle, is written as text. */
function line(fields: Record<string, unknown>): string {
  try {
    return JSON.stringify(fields)
  } catch {
    return JSON.stringify(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, writable(value)])))
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
