import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import type { OccurrenceHistory, Progress } from '../../model/occurrence.ts'
import { type Entry, stateOf } from '../ledger/ledger.ts'
import { type RangeRow, rangeColumns, rangeRecord } from '../rows/range-row.ts'
import type { JobCounts, RangeRecord, Which } from '../store.ts'
import { type Asked, askedSeries } from './asked.ts'
import type { Context } from './context.ts'
import type { Session } from './database.ts'
import { readEntries } from './entries.ts'
import { findRef } from './find.ts'
import { failuresInRow, sumTallies } from './tally.ts'

export async function get(context: Context, which: Which): Promise<OccurrenceHistory | null> {
  return context.db.snapshot(async (session) => {
    const ref = await findRef(session, context, which)
    if (ref === null) return null
    const [[loaded], progress] = await Promise.all([
      readEntries(session, context.dictionary, [ref], { withAttempts: true }),
      readProgress(session, ref),
    ])
    if (!loaded) return null
    const { entry } = loaded
    const [node, blockers] = await Promise.all([nodeOf(session, context, entry), blockersOf(session, entry)])
    const { record, dueAt, turns, attempts, wait } = entry
    return { record, state: stateOf(entry), dueAt, node, turns, attempts, progress, wait, blockers }
  })
}

async function readProgress(session: Session, ref: number): Promise<Progress | null> {
  const [row] = await session.all<[task: string, done: number, message: string | null, at: number]>(
    'SELECT task, done, message, at FROM punctual.progress WHERE ref = $1',
    [ref],
  )
  if (!row) return null
  const [task, done, message, at] = row
  return { task, done, message, at }
}

async function nodeOf(session: Session, { dictionary }: Context, { claim }: Entry): Promise<string | null> {
  if (claim === null) return null
  const [row] = await session.all<[number]>('SELECT node FROM punctual.claim WHERE id = $1', [claim])
  return row ? dictionary.bootName(row[0]) : null
}

const mostBlockers = 10

async function blockersOf(session: Session, { wait }: Entry): Promise<readonly string[]> {
  if (!wait?.key) return []
  const rows = await session.all<[string]>(
    `SELECT (SELECT o.id FROM punctual.occurrence o WHERE o.ref = h.ref) AS id FROM punctual.hold h WHERE h.key = $1
      ORDER BY h.seq LIMIT ${mostBlockers}`,
    [wait.key],
  )
  return rows.map(([id]) => id)
}

export async function counts({ db }: Context, of: Asked): Promise<JobCounts> {
  const { where, values } = askedSeries(of)
  const sums = occurrenceStates.map((state) => `coalesce(sum(s.${state} + coalesce(t.${state}, 0)), 0)::bigint AS ${state}`)
  const tallies = `(SELECT y.* FROM punctual.tally y WHERE y.series IN (SELECT s.ref FROM punctual.series s WHERE ${where}))`
  const [[lastRunAt, failures, ...numbers]] = (await db.all<[lastRunAt: number | null, failures: number, ...number[]]>(
    `SELECT max(greatest(s.last_run_at, t.last_run_at)) AS last_run_at, coalesce(sum(${failuresInRow}), 0)::bigint AS failures,
      ${sums.join(', ')}
      FROM punctual.series s LEFT JOIN (${sumTallies(tallies)}) t ON t.series = s.ref WHERE ${where}`,
    values,
  )) as [[number | null, number, ...number[]]]
  const states = Object.fromEntries(occurrenceStates.map((state, index) => [state, numbers[index] ?? 0]))
  return { states: states as Record<OccurrenceState, number>, lastRunAt, failuresInRow: failures }
}

export async function listRanges(
  { db }: Context,
  { limit, ...of }: Asked & { readonly limit: number },
): Promise<readonly RangeRecord[]> {
  const { where, values } = askedSeries(of, 2)
  // The index holds the ranges of each series in order; of all series together, the table does.
  const newest =
    values.length === 0
      ? 'punctual.range r JOIN punctual.series s ON s.ref = r.series'
      : `punctual.series s CROSS JOIN LATERAL (
          SELECT i.* FROM punctual.range i WHERE i.series = s.ref ORDER BY i.seq DESC LIMIT $1
        ) r`
  const rows = await db.all<RangeRow>(`SELECT ${rangeColumns} FROM ${newest} WHERE ${where} ORDER BY r.seq DESC LIMIT $1`, [
    limit,
    ...values,
  ])
  return rows.map(rangeRecord)
}
