import type { LogLine, LogText } from '../model/log-text.ts'
import type { AttemptLog } from '../model/occurrence.ts'
import { decodePayload } from '../model/payload.ts'

/** The stored lines of `ctx.log` in one try of a task. */
export interface LogView {
  readonly task: string
  /** As `n` of its attempt. */
  readonly attempt: number
  readonly turn: number
  /** How many older lines did not fit. */
  readonly dropped: number
  readonly lines: readonly LogLineView[]
}

/** One line of `ctx.log`. */
export interface LogLineView extends Omit<LogLine, 'at'> {
  readonly at: Date
}

export function logView({ task, n, turn, text }: AttemptLog): LogView {
  const { dropped, lines } = decodePayload(text) as LogText
  return { task, attempt: n, turn, dropped, lines: lines.map((line) => ({ ...line, at: new Date(line.at) })) }
}
