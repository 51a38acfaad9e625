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
import { type BoundedFilter, matching, recent, type Search, searches, type Ways } from './list/searches.ts'
import { onSnapshot, reading } from './list/snapshot.ts'
import { readSummaries } from './list/summary.ts'
import { allApart, allBetween, allOfJob, type Bounds, boundsOf, type Window, windowOf } from './list/window.ts'
import { currentRows, currentState } from './occurrence/current-rows.ts'

/** A page: the newest handles of a filter that are below one. */
export interface PageQuery {
  readonly filter: OccurrenceFilter
  readonly below: number
}

/** Refuses a cursor that no list has returned. */
export function pageQuery(filter: OccurrenceFilter): PageQuery {
  return { filter, below: filter.cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(filter.cursor) }
}

/** Several pages, of one state of the database: it takes hardly more statements than one page. */
export async function list(context: Context, asked: readonly PageQuery[]): Promise<readonly Page<OccurrenceSummary>[]> {
  return onSnapshot(context, async (session) => {
    const found = await searchAll(session, asked)
    const pages = found.map((refs, at) => refs.slice(0, asked[at]?.filter.limit))
    const lines = await readSummaries(session, context.names, [...new Set(pages.flat())])
    return pages.map((refs, at) => {
      const last = refs.at(-1)
      const isMore = last !== undefined && (found[at]?.length ?? 0) > refs.length
      return { items: refs.flatMap((ref) => lines.get(ref) ?? []), cursor: isMore ? encodeCursor(last) : null }
    })
  })
}

/** The handles of each page, and the one after it. */
async function searchAll(session: Session, asked: readonly PageQuery[]): Promise<number[][]> {
  await reading(session, 'in order')
  const found = await Promise.all(asked.map((page) => searchSoon(session, page)))
  if (found.every(Array.isArray)) return found
  const newest = await newestRef(session)
  await reading(session, 'in blocks')
  const bounds = await boundsOfAll(session, found, newest + 1)
  await reading(session, 'in order')
  return Promise.all(found.map((one) => (Array.isArray(one) ? one : searchWindow(session, one, bounds))))
}

/** A page of a window, and its rows that were created long before or after they were due, unless they are too many. */
interface WindowPage extends PageQuery {
  readonly window: Window
  readonly apart: readonly number[] | null
}

/** Finds what needs no look at where a window lies. Read in order. */
async function searchSoon(session: Session, { filter, below }: PageQuery): Promise<number[] | WindowPage> {
  if (filter.parent !== undefined && !isUuid(filter.parent)) return []
  const window = windowOf(filter)
  if (!window) return search(session, filter, below)
  const condition = matching(filter, 3)
  const all = filter.job === undefined ? null : await allOfJob(session, window, below, { job: filter, condition })
  if (all) return inStates(session, all, filter)
  return { filter, below, window, apart: await allApart(session, window, below, condition) }
}

async function newestRef(session: Session): Promise<number> {
  const [row] = await session.rows<{ newest: number | null }>('SELECT max(ref) AS newest FROM punctual.occurrence')
  return row?.newest ?? 0
}

const keyOf = ({ window, below }: WindowPage) => `${window.from} ${window.to} ${below}`

/** Where windows lie. Pages of the same window share a look. Read in blocks. */
async function boundsOfAll(
  session: Session,
  found: readonly (number[] | WindowPage)[],
  top: number,
): Promise<ReadonlyMap<string, Bounds>> {
  const bounds = new Map<string, Bounds>()
  for (const page of found)
    if (!Array.isArray(page) && page.apart && !bounds.has(keyOf(page)))
      bounds.set(keyOf(page), await boundsOf(session, page.window, Math.min(page.below, top)))
  return bounds
}

/** So many rows are read one by one, if they lie beside each other. */
const mostBetween = 20_000

/** Read in order. */
async function searchWindow(session: Session, page: WindowPage, known: ReadonlyMap<string, Bounds>): Promise<number[]> {
  const { filter, below, window, apart } = page
  const bounds = known.get(keyOf(page))
  if (!apart || !bounds) return search(session, filter, below)
  const { low, high } = bounds
  const isNear = filter.job === undefined && high - low <= mostBetween
  const [far, near] = await Promise.all([
    inStates(session, apart, filter),
    isNear
      ? inStates(session, await allBetween(session, window, bounds, matching(filter, 4)), filter)
      : search(session, { ...filter, first: low }, high),
  ])
  return newestOf([...far, ...near], filter.limit + 1)
}

function newestOf(refs: readonly number[], count: number): number[] {
  return [...new Set(refs)].sort((a, b) => b - a).slice(0, count)
}

/** The handles of a page, and the one after it. */
async function search(session: Session, filter: BoundedFilter, below: number): Promise<number[]> {
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
  return newestOf(found.flat(), wanted)
}

/** Of these handles the newest that a filter wants, by their states or cause. */
async function inStates(
  session: Session,
  refs: readonly number[],
  { states, cause, limit }: OccurrenceFilter,
): Promise<number[]> {
  if (refs.length === 0 || (states === undefined && cause === undefined)) return newestOf(refs, limit + 1)
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
