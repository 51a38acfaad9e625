// The fingerprint of an error: work that died of the same cause has the same one, whatever ids and numbers its message names.
import { createHash } from 'node:crypto'
import type { ErrorRecord } from './report.ts'

const mostText = 500

/** The cause of a failure, as 16 hexadecimal digits. */
export function causeOf(error: ErrorRecord | null): string {
  if (error?.fingerprint !== undefined) return error.fingerprint
  const { name = '', code = '', message = '', stack } = error ?? {}
  const parts = [name, code, messagePattern(message), stack === undefined ? '' : topFrame(stack)]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

/** A message without what differs from one failure to the next: quoted text, addresses, and words with a digit in them. */
export function messagePattern(message: string): string {
  return message
    .slice(0, mostText)
    .replace(/"[^"]*"|`[^`]*`|(?<!\w)'[^']*'(?!\w)/g, '…')
    .replace(/\S+@\S+/g, '…')
    .replace(/[\p{L}\p{N}_-]*\p{N}[\p{L}\p{N}_-]*/gu, '#')
    .replace(/\s+/g, ' ')
    .trim()
}

/** The function and file of the first frame that is neither of Node.js nor of a package; lines move with every release and are left out. */
function topFrame(stack: string): string {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line))
  const own = frames.find((frame) => !/node:|[\\/]node_modules[\\/]/.test(frame))
  const [, method = '', place = ''] = /^\s+at (?:(.*?) \()?(.*?)\)?$/.exec(own ?? '') ?? []
  const file =
    place
      .replace(/(:\d+){1,2}$/, '')
      .split(/[\\/]/)
      .at(-1) ?? ''
  return `${method.replace(/^async /, '')} ${file.replace(/\?.*$/, '')}`.trim()
}
