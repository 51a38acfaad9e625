// New rows that throttle: whether the newest work of their key was created a short while ago.
import { conflictAnswer, isThrottled } from '../../rules/conflict.ts'
import type { CreatedRow, NewOccurrence } from '../../store.ts'
import { column } from '../connection/arrays.ts'
import type { Session } from '../connection/session.ts'
import type { Context } from '../context.ts'
import { type Conflict, readState } from './conflicts.ts'

// Two calls under one key come one after the other, each with the commit of the one before it in sight.
const lockKeys = `SELECT pg_advisory_xact_lock(k.lock) FROM (
    SELECT DISTINCT hashtextextended(concat_ws(' ', 'punctual.throttle', series, key), 0) AS lock
    FROM unnest($1::int[], $2::text[]) u (series, key) ORDER BY 1
  ) k`

interface Newest {
  readonly at: number
  readonly ref: number
  readonly id: string
  readonly payload: string | null
}

const selectNewest = `SELECT k.at, o.ref, o.id, o.payload FROM unnest($1::int[], $2::text[], $3::int[]) k (series, key, at)
  CROSS JOIN LATERAL (
    SELECT i.ref, i.id, i.payload FROM punctual.occurrence i WHERE i.series = k.series AND i.key = k.key
      AND (SELECT f.uniqueness FROM punctual.form f WHERE f.ref = i.form) = 'live' ORDER BY i.ref DESC LIMIT 1
  ) o`

/** The answers of rows that are throttled, by their place in the call. The session is in a transaction. */
export async function answerThrottled(
  context: Context,
  session: Session,
  rows: readonly NewOccurrence[],
): Promise<ReadonlyMap<number, CreatedRow>> {
  const paced = rows.flatMap((row, at): Conflict[] => (isThrottling(row) ? [{ row, at }] : []))
  if (paced.length === 0) return new Map()
  const series = column(paced.map(({ row }) => context.names.series(row.tenant, row.job).ref))
  const keys = column(paced.map(({ row }) => row.key))
  await session.rows(lockKeys, [series, keys])
  const newest = await session.rows<Newest>(selectNewest, [series, keys, column(paced.map(({ at }) => at))])
  const answers = new Map<number, CreatedRow>()
  for (const { ref, id, payload, ...place } of newest) {
    const at = Number(place.at)
    const row = rows[at] as NewOccurrence
    const found = await readState(context, session, Number(ref))
    if (found && isThrottled({ id, ...found }, row, found.now)) answers.set(at, conflictAnswer({ id, payload, ...found }, row))
  }
  return answers
}

function isThrottling({ onConflict }: NewOccurrence): boolean {
  return typeof onConflict === 'object' && 'throttle' in onConflict
}
