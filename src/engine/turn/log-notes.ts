import { cut } from '../../model/cut.ts'
import { errorRecord, errorText, withoutStack } from '../../model/error-record.ts'
import { limits } from '../../model/limits.ts'
import type { LogLevel } from '../../model/log-text.ts'
import type { AttemptLog } from '../../model/occurrence.ts'
import type { Attempt } from './attempt.ts'

/** How long a new line of a running attempt waits for others before all are written. */
const gatherMs = 1000

/**
 * The newest log lines of one attempt, as many as fit. While the turn goes on they are written a second after a new one; the end of the
 * turn carries the rest. Each write holds all lines, so a lost or repeated one does no harm.
 */
export class LogNotes {
  readonly #attempt: Attempt
  /** JSON texts. */
  readonly #lines: string[] = []
  #length = 0
  #added = 0
  #stored = 0
  #cancelTimer: (() => void) | null = null

  constructor(attempt: Attempt) {
    this.#attempt = attempt
  }

  add(level: LogLevel, message: string, fields: object): void {
    const line = lineText(this.#attempt.turn.env.time.now(), level, message, fields)
    this.#lines.push(line)
    this.#length += line.length
    this.#added += 1
    while (this.#length > limits.logText) this.#length -= this.#lines.shift()?.length ?? 0
    this.#cancelTimer ??= this.#timer()
  }

  /** The turn is over: its end carries the lines that are not stored yet. */
  end(): AttemptLog | null {
    this.#cancelTimer?.()
    return this.#stored === this.#added ? null : this.#record()
  }

  #timer(): () => void {
    return this.#attempt.turn.env.clock.timer(gatherMs, () => void this.#write())
  }

  #record(): AttemptLog {
    const { turn, run, n } = this.#attempt
    const dropped = this.#added - this.#lines.length
    return { turn: turn.n, task: run.name, n, text: `{"dropped":${dropped},"lines":[${this.#lines.join(',')}]}` }
  }

  /** Lines are worth no failure: a write that follows has them too. */
  async #write(): Promise<void> {
    const { turn } = this.#attempt
    const count = this.#added
    const answer = await turn.checkpoint({ attempts: [], logs: [this.#record()] }).catch((error: unknown) => {
      turn.log.warn('Log lines could not be stored', { error: errorText(error) })
    })
    if (answer === 'ok') this.#stored = count
    const isDone = turn.isOver || answer !== 'ok' || count === this.#added
    this.#cancelTimer = isDone ? null : this.#timer()
  }
}

function lineText(at: number, level: LogLevel, message: string, fields: object): string {
  const head = { at: Math.round(at), level, message: cut(message, limits.logLine) }
  const text = fieldsText(fields)
  if (text === '{}') return JSON.stringify(head)
  return text.length > limits.logLine
    ? JSON.stringify({ ...head, fields: { cut: cut(text, limits.logLine) } })
    : `${JSON.stringify(head).slice(0, -1)},"fields":${text}}`
}

function fieldsText(fields: object): string {
  try {
    return JSON.stringify(fields, writable) ?? '{}'
  } catch (error) {
    return JSON.stringify({ unreadable: errorText(error) })
  }
}

function writable(_: string, value: unknown): unknown {
  if (value instanceof Error) return withoutStack(errorRecord(value))
  return typeof value === 'bigint' ? String(value) : value
}
