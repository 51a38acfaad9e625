import type { Logger } from '../model/context.ts'
import { visible } from './print.ts'

interface LogStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

export const logForms = ['lines', 'json', 'quiet'] as const
/** `lines` for people, `json` for programs, `quiet`: only errors, in short, for people. */
export type LogForm = (typeof logForms)[number]

/** Log lines on standard error: for a person on a terminal, as lines of JSON for anything else, unless a form is given. */
export function lineLogger(stream: LogStream = process.stderr, form: LogForm = stream.isTTY ? 'lines' : 'json'): Logger {
  const write = (level: string, message: string, fields: object = {}) => {
    if (form === 'quiet' && level !== 'error') return
    const time = new Date().toISOString()
    const own = { time, level, message }
    const line =
      form === 'json'
        ? JSON.stringify({ ...own, ...fields, ...own })
        : forPerson(time, level, message, form === 'quiet' ? short(fields) : fields)
    stream.write(`${line}\n`)
  }
  return {
    debug: () => {},
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
  }
}

/** Work that has a key is found by it. */
function short({ id, turn: _, ...fields }: { id?: unknown; turn?: unknown; key?: unknown }): object {
  return fields.key ? fields : { ...fields, id }
}

function forPerson(time: string, level: string, message: string, fields: object): string {
  const shown = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  const pairs = shown.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return visible([time.slice(11, 19), level.padEnd(5), message, ...pairs].join(' '))
}
