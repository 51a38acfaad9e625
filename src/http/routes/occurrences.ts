import { Hono } from 'hono'
import type { Occurrence } from '../../client/occurrence-view.ts'
import type { Punctual } from '../../client/punctual.ts'
import { PunctualError } from '../../errors.ts'
import { withoutStack } from '../../model/error-record.ts'
import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import { checkOneOf } from '../../model/limits.ts'
import type { ErrorRecord } from '../../model/report.ts'
import { readNumber, readQuery } from '../query.ts'

const filterNames = ['tenant', 'job', 'state', 'key', 'idempotencyKey', 'entity', 'from', 'to', 'limit', 'cursor'] as const

/** Occurrences as lists, one by one, and counted by state. */
export function occurrenceRoutes(punctual: Punctual): Hono {
  return new Hono()
    .get('/occurrences', async (c) => {
      const { state, limit, ...query } = readQuery(c.req.url, filterNames)
      const { items, cursor } = await punctual.list({
        ...query,
        ...(state !== undefined && { state: readStates(state) }),
        ...(limit !== undefined && { limit: readNumber(limit, 'limit') }),
      })
      return c.json({
        items: items.map((item) => ({
          ...item,
          error: item.error && withoutStack(item.error),
        })),
        cursor,
      })
    })
    .get('/occurrences/:id', async (c) => {
      readQuery(c.req.url, [])
      const id = c.req.param('id')
      const occurrence = await punctual.get(id)
      if (!occurrence) throw new PunctualError('occurrence.unknown', `There is no occurrence ${JSON.stringify(id)}`, { id })
      return c.json(withoutStacks(occurrence))
    })
    .get('/counts', async (c) => c.json({ states: await punctual.counts(readQuery(c.req.url, ['tenant', 'job'])) }))
}

/** One state, or several parted by commas. */
function readStates(text: string): readonly OccurrenceState[] {
  return text.split(',').map((state) => checkOneOf(state.slice(0, 100), 'state', occurrenceStates))
}

/** Stacks name files of the server; `get` of the library has them. */
function withoutStacks(occurrence: Occurrence): Occurrence {
  const clean = <T extends { readonly error: ErrorRecord | null }>(item: T): T => ({
    ...item,
    error: item.error && withoutStack(item.error),
  })
  return {
    ...clean(occurrence),
    tasks: occurrence.tasks.map((task) => ({ ...task, attempts: task.attempts.map(clean) })),
    turns: occurrence.turns.map(clean),
  }
}
