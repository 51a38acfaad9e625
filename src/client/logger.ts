import type { Logger } from '../model/context.ts'

/** Warnings and errors as lines of JSON on standard error, so that no message can break out of its line. */
export const stderrLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, fields) => write('warn', message, fields),
  error: (message, fields) => write('error', message, fields),
}

function write(level: string, message: string, fields: object = {}): void {
  process.stderr.write(`${JSON.stringify({ level, message, ...fields })}\n`)
}
