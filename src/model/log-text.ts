import type { Logger } from './context.ts'

/** Levels whose lines are stored. */
export type LogLevel = Exclude<keyof Logger, 'debug'>

/** One stored line of `ctx.log`. */
export interface LogLine {
  /** In ms since the epoch. */
  readonly at: number
  readonly level: LogLevel
  readonly message: string
  readonly fields?: Readonly<Record<string, unknown>>
}

/** The stored lines of one attempt, the oldest first. */
export interface LogText {
  /** How many older lines did not fit. */
  readonly dropped: number
  readonly lines: readonly LogLine[]
}
