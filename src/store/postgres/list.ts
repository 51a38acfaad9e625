// Lists, newest first, of however many rows: see searches.ts and window.ts for how none of them walks what it does not show.
import type { OccurrenceSummary } from '../../model/occurrence.ts'
import { decodeCursor, encodeCursor, type OccurrenceFilter, type Page } from '../query.ts'
import { type JobFilter, seriesWhere } from '../rules/sql/conditions.ts'
import { type RangeRow, rangeRecord } from '../rules/sql/range-row.ts'
import type { RangeRecord } from '../store.ts'
import { column } from './connection/arrays.ts'
import type { Session } from './connection/session.ts'
import type { Context } from './context.ts'
import { isUuid } from './find.ts'
import { matching, recent, type Search, searches, type Ways } from './list/searches.ts'
import { onSnapshot, reading } from './list/snapshot.ts'
import { readSummaries } from './list/summary.ts'
import { allOfJob, allWithin, endOf, windowOf } from './list/window.ts'
import { currentRows, currentState } from './occurrence/current-rows.ts'

export async function list(context: Context, filter: OccurrenceFilter): Promise<Page<OccurrenceSummary>> {
  const below = filter.cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(filter.cursor)
  if (filter.parent !== undefined && !isUuid(filter.parent)) return { items: [], cursor: null }
  return onSnapshot(context, async (session) => {
    const refs = await searchInOrder(session, filter, below)
    const page = refs.slice(0, filter.limit)
    const items = await readSummaries(session, context.names, page)
    const last = page.at(-1)
    return { items, cursor: last !== undefined && refs.length > page.length ? encodeCursor(last) : null }
  })
}

/** The handles of a page, and the one after it. */
async function search(session: Session, filter: OccurrenceFilter, below: number): Promise<number[]> {
  const wanted = filter.limit + 1
  const find = async ({ sql, values }: Search) => {
    const rows = await session.rows<{ ref: number }>(sql, [below, wanted, ...values])
    return rows.map(({ ref }) => ref)
  }
  const first = recent(filter)
  const newest = first ? await find(first) : []
  if (newest.length === wanted) return newest
  const follow = async ([first, ...others]: Ways): Promise<number[]> => {
    let found = await find(first)
    for (const way of others) if (found.length < wanted) found = await find(way)
    return found
  }
  const found = await Promise.all((await searches(session, filter)).map(follow))
  return found
    .flat()
    .sort((a, b) => b - a)
    .slice(0, wanted)
}

async function searchInOrder(session: Session, filter: OccurrenceFilter, below: number): Promise<number[]> {
  const window = windowOf(filter)
  if (!window) {
    const [, refs] = await Promise.all([reading(session, 'in order'), search(session, filter, below)])
    return refs
  }
  const [row] = await session.rows<{ newest: number | null }>('SELECT max(ref) AS newest FROM punctual.occurrence')
  const top = Math.min(below, (row?.newest ?? 0) + 1)
  const condition = matching(filter, 3)
  await reading(session, 'in order')
  let all = filter.job === undefined ? null : await allOfJob(session, window, top, { job: filter, condition })
  if (!all) {
    await reading(session, 'in blocks')
    all = await allWithin(session, window, top, condition)
    const end = all ? top : await endOf(session, window, top)
    await reading(session, 'in order')
    if (!all) return search(session, filter, end)
  }
  const isOfSome = filter.states !== undefined || filter.cause !== undefined
  return isOfSome ? inStates(session, all, filter) : all.slice(0, filter.limit + 1)
}

/** Of these handles the newest that stand in one of the states, or died of the cause. */
async function inStates(
  session: Session,
  refs: readonly number[],
  { states, cause, limit }: OccurrenceFilter,
): Promise<number[]> {
  if (refs.length === 0) return []
  const isWanted = cause === undefined ? `${currentState} = ANY($2::text[])` : 'd.cause = $2::text'
  const rows = await session.rows<{ ref: number }>(
    `SELECT o.ref FROM punctual.occurrence o ${currentRows}
      WHERE o.ref = ANY($1::bigint[]) AND ${isWanted} ORDER BY o.ref DESC LIMIT $3`,
    [column(refs), cause ?? column(states ?? []), limit + 1],
  )
  return rows.map(({ ref }) => ref)
}

/** Ranges of instants that were passed over, the newest first. */
export async function listRanges(
  { db }: Context,
  { limit, ...of }: JobFilter & { readonly limit: number },
): Promise<readonly RangeRecord[]> {
  const { where, values } = seriesWhere(of, 2)
  // The index holds the ranges of each series in order; of all series together, the table does.
  const newest =
    values.length === 0
      ? 'punctual.range r JOIN punctual.series s ON s.ref = r.series'
      : `punctual.series s CROSS JOIN LATERAL (
          SELECT i.* FROM punctual.range i WHERE i.series = s.ref ORDER BY i.seq DESC LIMIT $1
        ) r`
  const rows = await db.rows<RangeRow>(`SELECT s.tenant, s.job, r.* FROM ${newest} WHERE ${where} ORDER BY r.seq DESC LIMIT $1`, [
    limit,
    ...values,
  ])
  return rows.map(rangeRecord)
}
