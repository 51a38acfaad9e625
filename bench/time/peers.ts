import { CronExpressionParser } from 'cron-parser'
import { Cron } from 'croner'
import { CronosExpression } from 'cronosjs'
import { cron } from '../../src/schedule/cron.ts'

/** One way to ask the same of every library: parse a text, then the first date strictly after another. */
export interface Peer {
  readonly name: string
  parse(text: string, timezone: string): unknown
  /** A function from a date to the next one. */
  next(text: string, timezone: string): (after: Date) => Date | null
  /** Walks from one date to the next and returns how many there are in [from, to). */
  count(text: string, timezone: string, from: Date, to: Date): number
}

export const punctual: Peer = {
  name: 'punctual',
  parse: (text, timezone) => cron(text, { timezone }),
  next(text, timezone) {
    const schedule = cron(text, { timezone })
    return (after) => schedule.next(after)
  },
  count(text, timezone, from, to) {
    let count = 0
    for (const _ of cron(text, { timezone }).between(from, to)) count++
    return count
  },
}

const croner: Peer = {
  name: 'croner',
  parse: (text, timezone) => new Cron(text, { timezone, paused: true }),
  next(text, timezone) {
    const job = new Cron(text, { timezone, paused: true })
    return (after) => job.nextRun(after)
  },
  count: (text, timezone, from, to) => countBy(croner.next(text, timezone), from, to),
}

const cronParser: Peer = {
  name: 'cron-parser',
  parse: (text, timezone) => CronExpressionParser.parse(text, { tz: timezone, currentDate: start }),
  next(text, timezone) {
    const expression = CronExpressionParser.parse(text, { tz: timezone, currentDate: start })
    return (after) => {
      expression.reset(after)
      return expression.next().toDate()
    }
  },
  count(text, timezone, from, to) {
    // Its own way to iterate, which is faster for it than starting anew from each date.
    const expression = CronExpressionParser.parse(text, { tz: timezone, currentDate: new Date(from.getTime() - 1000) })
    let count = 0
    while (expression.next().getTime() < to.getTime()) count++
    return count
  },
}

const cronosjs: Peer = {
  name: 'cronosjs',
  parse: (text, timezone) => CronosExpression.parse(text, { timezone }),
  next(text, timezone) {
    const expression = CronosExpression.parse(text, { timezone })
    return (after) => expression.nextDate(after)
  },
  count: (text, timezone, from, to) => countBy(cronosjs.next(text, timezone), from, to),
}

const start = new Date('2026-01-01T00:00:00Z')

export const peers: readonly Peer[] = [croner, cronParser, cronosjs]

function countBy(next: (after: Date) => Date | null, from: Date, to: Date): number {
  let count = 0
  for (let date = next(new Date(from.getTime() - 1)); date !== null && date < to; date = next(date)) count++
  return count
}
