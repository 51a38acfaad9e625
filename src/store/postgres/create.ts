import { defaultTenant } from '../../model/job.ts'
import type { CreateAnswer, Hint, NewOccurrence } from '../store.ts'
import { column, unquoted } from './arrays.ts'
import { lacks } from './by-key.ts'
import type { Context } from './context.ts'
import type { Session } from './database.ts'
import { NamesNeeded } from './dictionary.ts'
import { ConflictError, isDuplicate, storeFailure } from './failure.ts'
import { type Drafted, JobsInForce } from './in-force.ts'
import { resolve } from './in-the-way.ts'
import { toJson } from './records.ts'

export interface Created {
  readonly answers: readonly CreateAnswer[]
  readonly hints: readonly Hint[]
}

const mostTries = 5
/** So long may a call wait for somebody's transaction: many may share it, or the connection that it waits on. */
const longestWait = '100ms'

/** Creates occurrences; in the caller's transaction when there is one. */
export async function create(context: Context, rows: readonly NewOccurrence[], joined?: Session): Promise<Created> {
  if (rows.length === 0) return { answers: [], hints: [] }
  const { db, dictionary, facts } = context
  await dictionary.addSeries(
    rows.flatMap(({ tenant, job, definition }) => [
      { tenant, job },
      { tenant: defaultTenant, job: definition },
    ]),
  )
  const unread = seriesOf(context, rows).filter((series) => facts.versions(series) === undefined)
  await facts.refresh(joined ?? db, unread)
  // Others are told by the caller, after the commit.
  if (joined) return createIn(context, joined, rows)
  // A single statement is a commit of its own; what may move or replace another needs its lock.
  if (rows.every(({ onConflict, unique }) => onConflict === 'keep' && unique === 'ever'))
    return rows.every(({ key }) => key === null)
      ? createUnkeyed(context, rows)
      : createIn(context, db, rows, { isPatient: false })
  return createInOne(context, rows)
}

/**
 * All in one transaction of ours. What it turns out to lack is got outside of it, on no second connection: all of them may be held
 * by others that lack something too.
 */
async function createInOne(context: Context, rows: readonly NewOccurrence[]): Promise<Created> {
  const { db, dictionary, facts } = context
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction(async (session) => {
        const [, created] = await Promise.all([
          session.all(`SET LOCAL lock_timeout = '${longestWait}'`),
          createIn(context, session, rows, { isOwn: true }),
        ])
        return created
      })
    } catch (error) {
      if (error instanceof NamesNeeded) await dictionary.addKinds(error.kinds)
      else if (!(error instanceof JobsChanged)) throw error
      else if (tries >= mostTries) throw storeFailure(new ConflictError(error.message))
      else await facts.refresh(db, seriesOf(context, rows))
    }
  }
}

class JobsChanged extends Error {
  constructor() {
    super('the jobs keep changing')
  }
}

/** Ids made for this very call are new, unless the call is said again: looking first would cost a good part of the insert. */
async function createUnkeyed(context: Context, rows: readonly NewOccurrence[]): Promise<Created> {
  try {
    return await createIn(context, context.db, rows, { areNew: true })
  } catch (error) {
    if (isDuplicate(error)) return createIn(context, context.db, rows)
    throw error
  }
}

function seriesOf({ dictionary }: Context, rows: readonly NewOccurrence[]): number[] {
  return [
    ...new Set(
      rows.flatMap(({ tenant, job, definition }) => [
        dictionary.series(tenant, job).ref,
        dictionary.series(defaultTenant, definition).ref,
      ]),
    ),
  ]
}

interface Manner {
  /** The ids are known to be new. */
  readonly areNew?: boolean
  /** Waits for somebody's transaction for as long as the session allows. Default true. */
  readonly isPatient?: boolean
  /** The transaction is ours, and holds a connection that others may wait for. */
  readonly isOwn?: boolean
}

async function createIn(
  context: Context,
  session: Session,
  rows: readonly NewOccurrence[],
  manner: Manner = {},
): Promise<Created> {
  for (let tries = 1; ; tries++) {
    const { now, created, drafts } = await insertNew(context, session, rows, manner)
    const answers = new Map<NewOccurrence, CreateAnswer>()
    for (const { row } of drafts) {
      // Of several with the same id the first has made it.
      if (created.delete(row.id)) answers.set(row, { id: row.id, outcome: 'created', differs: false })
    }
    const left = rows.filter((row) => !answers.has(row))
    const hints: Hint[] = dueHints(
      rows.filter((row) => answers.has(row)),
      now,
    )
    if (left.length > 0) {
      const found = await resolve(context, session, left, manner.isOwn ?? false)
      for (const [row, answer] of found.answers) answers.set(row, answer)
      hints.push(...found.hints)
    }
    if (answers.size === rows.length) return { answers: rows.map((row) => answers.get(row) as CreateAnswer), hints }
    // What stood in the way was pruned meanwhile.
    if (tries >= mostTries) throw new Error('What stands in the way of a new occurrence cannot be found')
  }
}

function dueHints(rows: readonly NewOccurrence[], now: number): Hint[] {
  if (rows.length === 0) return []
  let at = Number.POSITIVE_INFINITY
  for (const { due } of rows) at = Math.min(at, typeof due === 'number' ? due : now + due.in)
  return [{ kind: 'due', at }]
}

interface Inserted {
  readonly now: number
  /** The ids of those that are new. */
  readonly created: Set<string>
  readonly drafts: readonly Drafted[]
}

async function insertNew(
  context: Context,
  session: Session,
  rows: readonly NewOccurrence[],
  { isOwn = false, areNew = false, isPatient = true }: Manner,
): Promise<Inserted> {
  const { dictionary, facts } = context
  for (let tries = 1; ; tries++) {
    const jobs = new JobsInForce(context, context.guessNow())
    const drafts = rows.map((row) => jobs.draft(row))
    await dictionary.needKinds(
      drafts.map(({ kind, row }) => ({ kind, priority: row.priority })),
      isOwn,
    )
    const { series, from, until } = jobs.checked
    const isLive = rows.some(({ unique, key }) => unique === 'live' && key !== null)
    const mayExpire = drafts.some(({ startWithinMs }) => startWithinMs !== null)
    const [answer] = await session.all<[now: number, isCurrent: boolean, count: number, ids: string | null]>(
      insertText({ isLive, mayExpire, areNew, isPatient }),
      [
        context.now(),
        from,
        until,
        column(series),
        column(series.map((ref) => facts.newest(ref))),
        rows.length,
        ...draftColumns(context, drafts),
      ],
    )
    const [now, isCurrent, count, ids] = answer as [number, boolean, number, string | null]
    context.noteNow(now)
    if (isCurrent) {
      const all = Number(count) === rows.length
      return { now, drafts, created: new Set(all ? rows.map(({ id }) => id) : ids === null ? [] : ids.split(',')) }
    }
    if (isOwn) throw new JobsChanged()
    if (tries >= mostTries) throw new ConflictError('the jobs keep changing')
    await facts.refresh(session, seriesOf(context, rows))
  }
}

function draftColumns({ dictionary }: Context, drafts: readonly Drafted[]): (string | null)[] {
  const of = (value: (draft: Drafted) => string | number | null) => column(drafts.map(value))
  return [
    unquoted(drafts.map(({ row }) => row.id)),
    unquoted(drafts.map(({ series }) => series)),
    unquoted(drafts.map(({ kind }) => dictionary.kind(kind))),
    unquoted(drafts.map(({ version }) => version)),
    unquoted(drafts.map(({ row }) => row.source)),
    of(({ row }) => row.key),
    unquoted(drafts.map(({ row }) => row.unique)),
    of(({ row }) => row.entity),
    of(({ row }) => (Object.keys(row.refs).length === 0 ? null : JSON.stringify(row.refs))),
    of(({ row }) => toJson(row.settings)),
    unquoted(drafts.map(({ row }) => row.priority)),
    of(({ holds }) => toJson(holds)),
    of(({ row }) => toJson(row.replay)),
    of(({ startWithinMs }) => startWithinMs),
    of(({ row }) => row.payload),
    of(({ row }) => (typeof row.due === 'number' ? row.due : null)),
    of(({ row }) => (typeof row.due === 'number' ? null : row.due.in)),
  ]
}

const types =
  'uuid int int int punctual.source text punctual.uniqueness text text text smallint text text float8 text float8 float8'.split(
    ' ',
  )

const texts = new Map<string, string>()

interface InsertManner extends Required<Omit<Manner, 'isOwn'>> {
  readonly isLive: boolean
  readonly mayExpire: boolean
}

/**
 * All in one statement: whether what is known of the jobs still holds, the occurrences, and what goes with them. What few rows
 * need is left out of the text where no row needs it. That an id is neither in use nor buried is seen in one look: an insert
 * alone would wait for who is just burying it, and succeed. A caller's transaction may see the tables as they were at its
 * beginning: then a job may be newer than its row, and the row of a kind not be there yet. Ids and keys are taken in order, so that
 * two who want the same ones do not block each other.
 */
function insertText({ isLive, mayExpire, areNew, isPatient }: InsertManner): string {
  const name = `${isLive} ${mayExpire} ${areNew} ${isPatient}`
  const known = texts.get(name)
  if (known) return known
  const text = `WITH g AS MATERIALIZED (
    SELECT ${isPatient ? '' : `set_config('lock_timeout', '${longestWait}', true),`} t.now, t.now >= $2::float8 AND t.now < $3::float8 AND NOT EXISTS (
      SELECT 1 FROM unnest($4::int[], $5::int[]) e (series, newest) JOIN punctual.job j ON j.series = e.series
      WHERE j.version > e.newest) AS is_current
    FROM (SELECT coalesce($1::float8, punctual.now_ms()) AS now) t),
  i AS MATERIALIZED (
    SELECT nextval('punctual.occurrence_ref_seq') AS ref, coalesce(n.due_at, g.now + n.due_in) AS scheduled_at, g.now, n.*
    FROM g, unnest(${types.map((type, at) => `$${at + 7}::${type}[]`).join(', ')}) n (id, series, kind, version, source, key, uniqueness,
      entity, refs, settings, priority, holds, replay, start_within_ms, payload, due_at, due_in)
    WHERE g.is_current AND ${lacks('tombstone', 'id = n.id')}
      ${areNew ? '' : `AND ${lacks('occurrence', 'id = n.id')}`}),
  ${
    isLive
      ? `l AS (INSERT INTO punctual.live_key (series, key, ref) SELECT series, key, ref FROM i WHERE uniqueness = 'live' AND key IS NOT NULL
    ORDER BY series, key, ref ON CONFLICT DO NOTHING RETURNING ref),`
      : ''
  }
  o AS (INSERT INTO punctual.occurrence (ref, id, series, kind, version, source, key, uniqueness, entity, refs, settings, priority, holds,
      replay, start_within_ms, scheduled_at, created_at, payload)
    SELECT i.ref, id, series, kind, version, source, key, uniqueness, entity, refs, settings, priority, holds, replay, start_within_ms,
      scheduled_at, now, payload FROM i ${isLive ? "LEFT JOIN l ON l.ref = i.ref WHERE uniqueness <> 'live' OR key IS NULL OR l.ref IS NOT NULL" : ''}
    ${areNew ? '' : 'ORDER BY i.id, i.ref ON CONFLICT (id) DO NOTHING'} RETURNING ref, id, series, kind, priority, scheduled_at, source, holds, start_within_ms),
  r AS (INSERT INTO punctual.ready (kind, priority, lane, due_at, ref, series, turn, planned, retrying, limited)
    SELECT o.kind, o.priority, CASE WHEN k.laned THEN o.series ELSE 0 END, o.scheduled_at, o.ref, o.series, 1,
      o.source IN ('schedule', 'recovery'), false, o.holds IS NOT NULL OR o.start_within_ms IS NOT NULL
    FROM o LEFT JOIN punctual.kind k ON k.ref = o.kind),
  ${
    mayExpire
      ? `e AS (INSERT INTO punctual.expiry (expires_at, ref) SELECT scheduled_at + start_within_ms, ref FROM o
    WHERE start_within_ms IS NOT NULL ON CONFLICT DO NOTHING),`
      : ''
  }
  c AS (INSERT INTO punctual.tally (series, pending) SELECT series, count(*) FROM o GROUP BY series)
  SELECT g.now, g.is_current, (SELECT count(*) FROM o) AS created,
    CASE WHEN (SELECT count(*) FROM o) < $6::int THEN (SELECT string_agg(id::text, ',') FROM o) END AS ids FROM g`
  texts.set(name, text)
  return text
}
