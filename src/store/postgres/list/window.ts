// Lists by time. Occurrences lie in the table by their age, and an index knows of each part of the table which instants and which
// handles it has: parts with nothing in the window are passed over, however many there are.
import { systemClock } from '../../../time/clock.ts'
import type { OccurrenceFilter } from '../../query.ts'
import { type JobFilter, seriesWhere } from '../../rules/sql/conditions.ts'
import type { Session } from '../connection/session.ts'

/** The instants that a list is about: `from` inclusive, `to` exclusive. */
export interface Window {
  readonly from: number
  readonly to: number
}

export function windowOf({ from, to }: OccurrenceFilter): Window | null {
  if (from === undefined && to === undefined) return null
  return { from: from ?? Number.NEGATIVE_INFINITY, to: to ?? Number.POSITIVE_INFINITY }
}

/** On an occurrence `o`, from $4 on. */
interface Condition {
  readonly where: string
  readonly values: readonly unknown[]
}

/** So many rows are looked at one by one; in a window that has more, lanes find some soon. */
const mostRows = 10_000

/** All handles within a window, the newest first, of those that `where` is true for; null when it has too many. Read in blocks. */
export async function allWithin(
  session: Session,
  { from, to }: Window,
  below: number,
  condition: Condition,
): Promise<number[] | null> {
  const [row] = await session.rows<{ count: number; refs: number[] | null }>(
    `SELECT count(*) AS count, array_agg(o.ref ORDER BY o.ref DESC) FILTER (WHERE ${condition.where}) AS refs FROM (
      SELECT ref, series, form, key, entity, parent FROM punctual.occurrence
      WHERE scheduled_at >= $1::float8 AND scheduled_at < $2::float8 AND ref < $3::bigint LIMIT ${mostRows + 1}
    ) o`,
    [from, to, below, ...condition.values],
  )
  return row && row.count > mostRows ? null : (row?.refs ?? [])
}

/** So many rows of a job are looked at one by one, whenever they were due. */
const mostOfJob = 2000

/** The same of a job that has few rows in all; null for one that has many. Read in order. */
export async function allOfJob(
  session: Session,
  { from, to }: Window,
  below: number,
  { job, condition }: { readonly job: JobFilter; readonly condition: Condition },
): Promise<number[] | null> {
  const { where, values } = seriesWhere(job, 4 + condition.values.length)
  const [row] = await session.rows<{ count: number; refs: number[] | null }>(
    `SELECT count(*) AS count, array_agg(o.ref ORDER BY o.ref DESC)
        FILTER (WHERE o.scheduled_at >= $1::float8 AND o.scheduled_at < $2::float8 AND ${condition.where}) AS refs FROM (
      SELECT ref, series, form, key, entity, parent, scheduled_at FROM punctual.occurrence
      WHERE series = ANY(ARRAY(SELECT s.ref FROM punctual.series s WHERE ${where})) AND ref < $3::bigint LIMIT ${mostOfJob + 1}
    ) o`,
    [from, to, below, ...condition.values, ...values],
  )
  return row && row.count > mostOfJob ? null : (row?.refs ?? [])
}

/** A part of the table that is walked rather than divided once more. */
const partSize = 16_384

/** As long as the index is up to date this takes a few milliseconds. Any handle that is reached before the time is over will do. */
const longestMs = 200

/** A handle above all those within a window, close to the last of them. Read in blocks. */
export async function endOf(session: Session, window: Window, below: number): Promise<number> {
  const until = systemClock.mono() + longestMs
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

async function hasAny(session: Session, { from, to }: Window, low: number, high: number): Promise<boolean> {
  const [row] = await session.rows<{ has_any: boolean }>(
    `SELECT EXISTS (
      SELECT 1 FROM punctual.occurrence
      WHERE scheduled_at >= $1::float8 AND scheduled_at < $2::float8 AND ref >= $3::bigint AND ref < $4::bigint
    ) AS has_any`,
    [from, to, low, high],
  )
  return row?.has_any === true
}
