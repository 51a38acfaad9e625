// Lists by time. Occurrences lie in the table by their age, and an index knows of each part of the table when its rows were created
// and which handles they have. Most are created about when they are due; those that are not are in an index of their own.
import { systemClock } from '../../../time/clock.ts'
import type { OccurrenceFilter } from '../../query.ts'
import { type JobFilter, seriesWhere } from '../../rules/sql/conditions.ts'
import { each } from '../connection/by-key.ts'
import type { Session } from '../connection/session.ts'
import { apartMs, isApart } from '../schema/tables.ts'
import type { matching } from './searches.ts'

/** The instants that a list is about: `from` inclusive, `to` exclusive. */
export interface Window {
  readonly from: number
  readonly to: number
}

export function windowOf({ from, to }: OccurrenceFilter): Window | null {
  if (from === undefined && to === undefined) return null
  return { from: from ?? Number.NEGATIVE_INFINITY, to: to ?? Number.POSITIVE_INFINITY }
}

/** On an occurrence `o`, after the values of a statement. */
type Condition = ReturnType<typeof matching>

/** The handles between which an occurrence of a window lies if it was created about when it was due: from `low` until before `high`. */
export interface Bounds {
  readonly low: number
  readonly high: number
}

/** Read in blocks. */
export async function boundsOf(session: Session, { from, to }: Window, below: number): Promise<Bounds> {
  const created = { from: from - apartMs, to: to + apartMs }
  const until = systemClock.mono() + longestMs
  const high = await endOf(session, created, below, until)
  return { low: await startOf(session, created, high, until), high }
}

/** So many rows are looked at one by one; where there are more, lanes find some soon. */
const mostRows = 10_000

/** All handles in a window of occurrences that were created long before or after they were due; null when they are too many. Read in order. */
export async function allApart(
  session: Session,
  { from, to }: Window,
  below: number,
  { where, values }: Condition,
): Promise<number[] | null> {
  const rows = await session.rows<{ ref: number }>(
    `SELECT o.ref FROM punctual.occurrence o WHERE ${isApart} AND o.scheduled_at >= $1::float8 AND o.scheduled_at < $2::float8
      AND o.ref < $3::bigint AND ${where} LIMIT ${mostRows + 1}`,
    [from, to, below, ...values],
  )
  return rows.length > mostRows ? null : rows.map(({ ref }) => ref)
}

/** All handles in a window between bounds that are close to each other. Read in order. */
export async function allBetween(
  session: Session,
  { from, to }: Window,
  { low, high }: Bounds,
  { where, values }: Condition,
): Promise<number[]> {
  const rows = await session.rows<{ ref: number }>(
    `SELECT o.ref FROM punctual.occurrence o WHERE o.scheduled_at >= $1::float8 AND o.scheduled_at < $2::float8
      AND o.ref < $3::bigint AND o.ref >= $4::bigint AND ${where} ORDER BY o.ref DESC`,
    [from, to, high, low, ...values],
  )
  return rows.map(({ ref }) => ref)
}

/** So many rows of a job are looked at one by one, whenever they were due. */
const mostOfJob = 2000

/** All handles of a job within a window, the newest first; null when it has many rows, in the window or not. Read in order. */
export async function allOfJob(
  session: Session,
  { from, to }: Window,
  below: number,
  { job, condition }: { readonly job: JobFilter; readonly condition: Condition },
): Promise<number[] | null> {
  const { where, values } = seriesWhere(job, 4 + condition.values.length)
  // Counted along the index alone: the rows of a job lie far from each other.
  const [row] = await session.rows<{ count: number; refs: number[] | null }>(
    `WITH own AS MATERIALIZED (
        SELECT ref FROM punctual.occurrence
        WHERE series = ANY(ARRAY(SELECT s.ref FROM punctual.series s WHERE ${where})) AND ref < $3::bigint LIMIT ${mostOfJob + 1}
      ), size AS MATERIALIZED (SELECT count(*) AS count FROM own)
      SELECT size.count, (
        SELECT array_agg(o.ref ORDER BY o.ref DESC) FROM own CROSS JOIN ${each('occurrence i', 'i.ref = own.ref')} o
        WHERE size.count <= ${mostOfJob} AND o.scheduled_at >= $1::float8 AND o.scheduled_at < $2::float8 AND ${condition.where}
      ) AS refs FROM size`,
    [from, to, below, ...condition.values, ...values],
  )
  return row && row.count > mostOfJob ? null : (row?.refs ?? [])
}

/** A part of the table that is walked rather than divided once more. */
const partSize = 16_384

/** As long as the index is up to date this takes a few milliseconds. Any handle that is reached before the time is over will do. */
const longestMs = 200

/** A handle above all those created within a window, close to the last of them. */
async function endOf(session: Session, window: Window, below: number, until: number): Promise<number> {
  let high = below
  let low = Math.max(0, high - partSize)
  // Most windows reach to the present or not far from it: hence from there in growing steps.
  while (low > 0 && systemClock.mono() < until && !(await hasAny(session, window, low, high))) {
    const size = 2 * (high - low)
    high = low
    low = Math.max(0, high - size)
  }
  while (high - low > partSize && systemClock.mono() < until) {
    const middle = Math.floor((low + high) / 2)
    if (await hasAny(session, window, middle, high)) low = middle
    else high = middle
  }
  return high
}

/** A handle at or below all those created within a window, at most a few times as far from its end as the first of them. */
async function startOf(session: Session, window: Window, high: number, until: number): Promise<number> {
  for (let size = partSize; size < high && systemClock.mono() < until; size *= 4)
    if (!(await hasAny(session, window, 0, high - size))) return high - size
  return 0
}

async function hasAny(session: Session, { from, to }: Window, low: number, high: number): Promise<boolean> {
  const [row] = await session.rows<{ has_any: boolean }>(
    `SELECT EXISTS (
      SELECT 1 FROM punctual.occurrence
      WHERE created_at >= $1::float8 AND created_at < $2::float8 AND ref >= $3::bigint AND ref < $4::bigint
    ) AS has_any`,
    [from, to, low, high],
  )
  return row?.has_any === true
}
