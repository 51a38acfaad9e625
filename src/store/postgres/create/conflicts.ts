// New rows whose id or key is taken.
import type { OccurrenceState } from '../../../model/lifecycle.ts'
import type { OccurrenceRecord, TurnRecord } from '../../../model/occurrence.ts'
import { mayHaveBegun } from '../../../model/turn.ts'
import { changedDue, changedRecord, changeOf, conflictAnswer, type Existing, givesWay, takesKey } from '../../rules/conflict.ts'
import { keyVersionIn } from '../../rules/sql/occurrence-row.ts'
import { isPassedOver } from '../../rules/tombstone.ts'
import type { CreatedRow, Hint, NewOccurrence } from '../../store.ts'
import { Changes } from '../changes/changes.ts'
import { column } from '../connection/arrays.ts'
import type { Session } from '../connection/session.ts'
import { type Context, readNow, storeNow } from '../context.ts'
import { currentRows, currentState } from '../occurrence/current-rows.ts'
import { extraOf, formOf, isGated } from '../occurrence/record.ts'
import { takeIdle } from '../occurrence/take-idle.ts'

/** Its place in the call, and the row with the id under which it is tried. */
export interface Conflict {
  readonly at: number
  readonly row: NewOccurrence
}

export interface Resolved {
  readonly answers: ReadonlyMap<number, CreatedRow>
  /** Those whose id belongs to an occurrence that leaves its key to the next. */
  readonly free: ReadonlySet<number>
  readonly hints: readonly Hint[]
}

interface Found {
  readonly at: number
  readonly ref: number | null
  readonly id: string | null
  readonly payload: string | null
  readonly extra: string | null
  readonly is_buried: boolean
  /** The tombstone's. */
  readonly version: number | null
}

const findTaken = `SELECT k.at, o.ref, o.id, o.payload, o.extra, t.id IS NOT NULL AS is_buried, t.version
  FROM unnest($1::int[], $2::uuid[], $3::int[], $4::text[]) k (at, id, series, key)
  LEFT JOIN LATERAL (SELECT id, version FROM punctual.tombstone WHERE id = k.id LIMIT 1) t ON true
  LEFT JOIN LATERAL (SELECT ref, id, payload, extra FROM punctual.occurrence WHERE ref = coalesce(
    (SELECT ref FROM punctual.occurrence WHERE id = k.id),
    (SELECT ref FROM punctual.live_key WHERE series = k.series AND key = k.key)) LIMIT 1) o ON true ORDER BY k.at`

/** Answers rows that found their id or key taken, in order. Those that find nothing any more, or find it moving, have no answer. */
export async function resolveConflicts(
  context: Context,
  session: Session,
  conflicts: readonly Conflict[],
  isOwn: boolean,
): Promise<Resolved> {
  const { names } = context
  const found = await session.rows<Found>(findTaken, [
    column(conflicts.map(({ at }) => at)),
    column(conflicts.map(({ row }) => row.id)),
    column(conflicts.map(({ row }) => names.series(row.tenant, row.job).ref)),
    column(conflicts.map(({ row }) => (row.unique === 'live' ? row.key : null))),
  ])
  const rows = new Map(conflicts.map(({ at, row }) => [Number(at), row]))
  const answers = new Map<number, CreatedRow>()
  const free = new Set<number>()
  const hints: Hint[] = []
  for (const { ref, id, payload, extra, is_buried: isBuried, version, ...place } of found) {
    const at = Number(place.at)
    const row = rows.get(at) as NewOccurrence
    if (ref === null || id === null) {
      if (isBuried && isPassedOver({ version }, row)) free.add(at)
      else if (isBuried) answers.set(at, { id: row.id, outcome: 'tombstoned', state: null, differs: false })
      continue
    }
    const resolving = { row, ref: Number(ref), id, payload, keyVersion: keyVersionIn(extra), isOwn }
    const answer =
      row.onConflict === 'keep' ? await keep(context, session, resolving) : await change(context, session, resolving, hints)
    if (answer === 'free') free.add(at)
    else if (answer) answers.set(at, answer)
  }
  return { answers, free, hints }
}

interface Resolving {
  readonly row: NewOccurrence
  readonly ref: number
  readonly id: string
  readonly payload: string | null
  readonly keyVersion: number | undefined
  readonly isOwn: boolean
}

async function keep(
  context: Context,
  session: Session,
  { row, ref, id, payload, keyVersion }: Resolving,
): Promise<CreatedRow | 'free' | null> {
  const found = await readState(context, session, ref)
  if (!found) return null
  const existing: Existing = { id, payload, keyVersion, ...found }
  if (takesKey({ id, ...found }, row, found.now)) {
    const { ref: series } = context.names.series(row.tenant, row.job)
    const key = [series, row.key, ref]
    await session.rows('DELETE FROM punctual.live_key WHERE series = $1::int AND key = $2::text AND ref = $3::bigint', key)
    return null
  }
  return givesWay(existing, row) ? 'free' : conflictAnswer(existing, row)
}

/** The row that is there is locked by taking it out of its place; it is put back wherever it belongs. */
async function change(
  context: Context,
  session: Session,
  resolving: Resolving,
  hints: Hint[],
): Promise<CreatedRow | 'free' | null> {
  const { row, ref, id, keyVersion, isOwn } = resolving
  const seen = await readState(context, session, ref)
  if (!seen || changeOf({ ...seen, keyVersion }, row) === null) return keep(context, session, resolving)
  const [idle] = await takeIdle(context, session, [ref])
  if (!idle) return (await isChanging(context, session, resolving)) ? null : keep(context, session, resolving)
  const { hasBegun, record } = idle
  const existing: Existing = { id, state: idle.state, hasBegun, payload: record.payload, keyVersion: record.keyVersion }
  const now = await readNow(session, context)
  const changes = new Changes(now)
  const wanted = changeOf(existing, row)
  if (wanted === null) changes.putBack(idle, idle.isRetrying, idle.wait)
  else {
    const dueAt = changedDue(row, record.createdAt, typeof row.due === 'number' ? row.due : now + row.due.in)
    const changed = changedRecord(record, row, wanted, dueAt)
    await updateRecord(context, session, ref, changed, isOwn)
    changes.reschedule({ ...idle, record: changed }, dueAt, idle.isRetrying)
    hints.push({ kind: 'due', at: dueAt })
  }
  await changes.write(session)
  return conflictAnswer(existing, row)
}

/** Whether the row that could not be taken out is idle all the same: another call has put it elsewhere meanwhile, and it is tried again. */
async function isChanging(context: Context, session: Session, { row, ref, keyVersion }: Resolving): Promise<boolean> {
  const found = await readState(context, session, ref)
  return found !== null && changeOf({ ...found, keyVersion }, row) !== null
}

/** Writes a changed record of an occurrence. */
export async function updateRecord(
  { names }: Context,
  session: Session,
  ref: number,
  record: OccurrenceRecord,
  isOwn: boolean,
): Promise<void> {
  const form = formOf(record)
  await names.addForms([{ form, isGated: isGated(record) }], isOwn)
  await session.rows(
    'UPDATE punctual.occurrence SET scheduled_at = $2::float8, form = $3::int, extra = $4, payload = $5 WHERE ref = $1::bigint',
    [ref, record.scheduledAt, names.form(form).ref, extraOf(record), record.payload],
  )
}

const selectState = `SELECT ${currentState} AS state, o.created_at, ${storeNow} AS now, (
    SELECT json_agg(json_build_object('end', e."end", 'startedAt', e.started_at))::text FROM punctual.turn e WHERE e.ref = o.ref) AS turns
  FROM punctual.occurrence o ${currentRows} WHERE o.ref = $2::bigint`

interface StateRow {
  readonly state: OccurrenceState
  readonly created_at: number
  readonly now: number
  /** JSON: in a caller's transaction the library decides what it makes of other types. */
  readonly turns: string | null
}

interface StandingWork {
  readonly state: OccurrenceState
  /** Whether an attempt of it may have begun. */
  readonly hasBegun: boolean
  readonly createdAt: number
  readonly now: number
}

export async function readState(context: Context, session: Session, ref: number): Promise<StandingWork | null> {
  const [row] = await session.rows<StateRow>(selectState, [context.now(), ref])
  if (!row) return null
  const { state, created_at: createdAt, now, turns } = row
  const ended = turns === null ? [] : (JSON.parse(turns) as Pick<TurnRecord, 'end' | 'startedAt'>[])
  const hasBegun = ended.some(mayHaveBegun)
  return { state, hasBegun, createdAt, now }
}
