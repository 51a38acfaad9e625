import type { Logger } from '../model/context.ts'
import { visible } from './print.ts'

interface LogStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Log lines on standard error: for a person on a terminal, as lines of JSON for anything else. */
export function lineLogger(stream: LogStream = process.stderr): Logger {
  const write = (level: string, message: string, fields: object = {}) => {
    const time = new Date().toISOString()
    stream.write(
      `${stream.isTTY ? forPerson(time, level, message, fields) : JSON.stringify({ time, level, message, ...fields })}\n`,
    )
  }
  return {
    debug: () => {},
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
  }
}

function forPerson(time: string, level: string, message: string, fields: object): string {
  const shown = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  const pairs = shown.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return visible([time.slice(11, 19), level.padEnd(5), message, ...pairs].join(' '))
}
