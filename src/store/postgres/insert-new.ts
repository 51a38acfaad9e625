// The statement that creates occurrences. In a bulk enqueue all rows but for their ids, keys, payloads and due times are alike,
// and what they have in common is sent and read once.
import { defaultTenant } from '../../model/job.ts'
import { toJson } from '../rows/json.ts'
import type { NewOccurrence } from '../store.ts'
import { column, unquoted } from './arrays.ts'
import { lacks } from './by-key.ts'
import type { Context } from './context.ts'
import type { Session } from './database.ts'
import { ConflictError } from './failure.ts'
import { type Draft, JobsInForce } from './in-force.ts'
import type { Notification } from './listen.ts'
import type { Statement } from './session.ts'

export interface Manner {
  /** The ids are known to be new, and never to have been buried. */
  readonly areNew?: boolean
  /** Waits for somebody's transaction for as long as the session allows. Default true. */
  readonly isPatient?: boolean
  /** The transaction is ours, and holds a connection that others may wait for. */
  readonly isOwn?: boolean
  /** Tells others with the same commit. */
  readonly along?: Notification | null
}

interface Inserted {
  readonly now: number
  /** The ids of those that are new. */
  readonly created: Set<string> | 'all'
}

export class JobsChanged extends Error {
  constructor() {
    super('the jobs keep changing')
  }
}

const mostTries = 5
/** So long may a call wait for somebody's transaction: many may share it, or the connection that it waits on. */
export const longestWait = '100ms'

/** Inserts what is not in use yet. */
export async function insertNew(
  context: Context,
  session: Session,
  rows: readonly NewOccurrence[],
  { isOwn = false, areNew = false, isPatient = true, along = null }: Manner,
): Promise<Inserted> {
  const { dictionary, facts } = context
  for (let tries = 1; ; tries++) {
    const jobs = new JobsInForce(context, context.guessNow())
    const drafts = rows.map((row) => jobs.draft(row))
    const distinct = [...new Set(drafts)]
    await dictionary.needKinds(
      distinct.map(({ kind, row }) => ({ kind, priority: row.priority })),
      isOwn,
    )
    const { series, from, until } = jobs.checked
    const isLive = rows.some(({ unique, key }) => unique === 'live' && key !== null)
    const mayExpire = distinct.some(({ startWithinMs }) => startWithinMs !== null)
    const areAlike = distinct.length === 1
    const [answer] = await session.all<[now: number, isCurrent: boolean, count: number, ids: string | null]>(
      insertText({ areAlike, isLive, mayExpire, areNew, isPatient, isTelling: along !== null }),
      [
        context.now(),
        from,
        until,
        column(series),
        column(series.map((ref) => facts.newest(ref))),
        ...ownColumns(rows),
        ...(areAlike ? commonValues(context, distinct[0] as Draft) : commonColumns(context, drafts)),
        ...(along ? [along.channel, along.payload] : []),
      ],
    )
    const [now, isCurrent, count, ids] = answer as [number, boolean, number, string | null]
    context.noteNow(now)
    if (isCurrent) {
      if (Number(count) === rows.length) return { now, created: 'all' }
      return { now, created: new Set(ids === null ? [] : ids.split(',')) }
    }
    if (isOwn) throw new JobsChanged()
    if (tries >= mostTries) throw new ConflictError('the jobs keep changing')
    await facts.refresh(session, seriesOf(context, rows))
  }
}

/** The series that rows belong to, and those of their definitions. */
export function seriesOf({ dictionary }: Context, rows: readonly NewOccurrence[]): number[] {
  const refs = new Set<number>()
  for (const { tenant, job, definition } of namesOf(rows)) {
    refs.add(dictionary.series(tenant, job).ref)
    refs.add(dictionary.series(defaultTenant, definition).ref)
  }
  return [...refs]
}

/** The rows without those that name the same job as the one before. */
export function namesOf(rows: readonly NewOccurrence[]): readonly NewOccurrence[] {
  return rows.filter((row, at) => {
    const before = rows[at - 1]
    return !before || row.job !== before.job || row.definition !== before.definition || row.tenant !== before.tenant
  })
}

/** Separates payloads. It cannot stand in a text of JSON; arrays would need every quote of it escaped. */
const separator = '\x1e'

function ownColumns(rows: readonly NewOccurrence[]): (string | null)[] {
  return [
    unquoted(rows.map(({ id }) => id)),
    // Nothing stands for NULL.
    rows.map(({ payload }) => payload ?? '').join(separator),
    column(rows.map(({ key }) => key)),
    column(rows.map(({ due }) => (typeof due === 'number' ? due : null))),
    // Most are due at once, which is said by saying nothing.
    column(rows.map(({ due }) => (typeof due === 'number' || due.in === 0 ? null : due.in))),
  ]
}

const ownTypes = { key: 'text', due_at: 'float8', due_in: 'float8' }

const commonTypes = {
  series: 'int',
  kind: 'int',
  version: 'int',
  source: 'punctual.source',
  uniqueness: 'punctual.uniqueness',
  entity: 'text',
  refs: 'text',
  settings: 'text',
  priority: 'smallint',
  holds: 'text',
  replay: 'text',
  start_within_ms: 'float8',
}

type CommonValues = Readonly<Record<keyof typeof commonTypes, string | number | null>>

function commonValues(context: Context, draft: Draft): (string | number | null)[] {
  const values = commonOf(context, draft)
  return commonNames.map((name) => values[name])
}

function commonColumns(context: Context, drafts: readonly Draft[]): (string | null)[] {
  const known = new Map<Draft, CommonValues>()
  const values = drafts.map((draft) => {
    const value = known.get(draft) ?? commonOf(context, draft)
    known.set(draft, value)
    return value
  })
  return commonNames.map((name) => column(values.map((value) => value[name])))
}

const commonNames = Object.keys(commonTypes) as (keyof typeof commonTypes)[]

function commonOf({ dictionary }: Context, { row, series, kind, version, holds, startWithinMs }: Draft): CommonValues {
  return {
    series,
    kind: dictionary.kind(kind),
    version,
    source: row.source,
    uniqueness: row.unique,
    entity: row.entity,
    refs: Object.keys(row.refs).length === 0 ? null : JSON.stringify(row.refs),
    settings: toJson(row.settings),
    priority: row.priority,
    holds: toJson(holds),
    replay: toJson(row.replay),
    start_within_ms: startWithinMs,
  }
}

const texts = new Map<string, string>()

interface InsertManner extends Required<Omit<Manner, 'isOwn' | 'along'>> {
  readonly isTelling: boolean
  /** The common values are sent once. */
  readonly areAlike: boolean
  readonly isLive: boolean
  readonly mayExpire: boolean
}

function insertText(manner: InsertManner): string {
  const name = Object.values(manner).join()
  const known = texts.get(name)
  if (known) return known
  const text = writeText(manner)
  texts.set(name, text)
  return text
}

const written = `id, ${commonNames.join(', ')}, key, scheduled_at, payload`

/**
 * All in one statement: whether what is known of the jobs still holds, the occurrences, and what goes with them. What few rows
 * need is left out of the text where no row needs it. That an id is neither in use nor buried is seen in one look: an insert
 * alone would wait for who is just burying it, and succeed. A caller's transaction may see the tables as they were at its
 * beginning: then a job may be newer than its row, and the row of a kind not be there yet. Ids and keys are taken in order, so that
 * two who want the same ones do not block each other. Arrays are taken apart by the list of a SELECT: what stands in a FROM is
 * written down as a whole first.
 */
function writeText({ areAlike, isLive, mayExpire, areNew, isPatient, isTelling }: InsertManner): string {
  const firstCommon = 11
  const common = Object.entries(commonTypes).map(([name, type], at) => {
    const value = `$${at + firstCommon}::${type}`
    return areAlike ? `${value} AS ${name}` : `unnest(${value}[]) AS ${name}`
  })
  const last = firstCommon + commonNames.length - 1
  const own = Object.entries(ownTypes).map(([name, type], at) => `unnest($${at + 8}::${type}[]) AS ${name}`)
  const fresh = `(SELECT nextval('punctual.occurrence_ref_seq') AS ref, coalesce(due_at, now + coalesce(due_in, 0)) AS scheduled_at, *
    FROM s, (SELECT unnest($6::uuid[]) AS id, unnest(string_to_array($7::text, chr(${separator.charCodeAt(0)}), '')) AS payload,
      ${[...own, ...(areAlike ? [] : common)].join(', ')}) n
    ${areNew ? '' : `WHERE ${lacks('tombstone', 'id = n.id')} AND ${lacks('occurrence', 'id = n.id')}`})`
  return `WITH g AS MATERIALIZED (
    SELECT ${isPatient ? '' : `set_config('lock_timeout', '${longestWait}', true),`} t.now, t.now >= $2::float8 AND t.now < $3::float8 AND NOT EXISTS (
      SELECT 1 FROM unnest($4::int[], $5::int[]) e (series, newest) JOIN punctual.job j ON j.series = e.series
      WHERE j.version > e.newest) AS is_current
    FROM (SELECT coalesce($1::float8, punctual.now_ms()) AS now) t),
  s AS MATERIALIZED (
    SELECT g.now, ARRAY(SELECT ref FROM punctual.kind WHERE ${areAlike ? 'ref = $12::int' : 'ref = ANY($12::int[])'} AND laned) AS laned
      ${areAlike ? `, ${common.join(', ')}` : ''}
    FROM g WHERE g.is_current),
  ${
    isLive
      ? `i AS MATERIALIZED ${fresh},
  l AS (INSERT INTO punctual.live_key (series, key, ref) SELECT series, key, ref FROM i WHERE uniqueness = 'live' AND key IS NOT NULL
    ORDER BY series, key, ref ON CONFLICT DO NOTHING RETURNING ref),`
      : ''
  }
  o AS (INSERT INTO punctual.occurrence (ref, ${written}, created_at)
    SELECT i.ref, ${written}, now FROM ${
      isLive ? "i LEFT JOIN l ON l.ref = i.ref WHERE uniqueness <> 'live' OR key IS NULL OR l.ref IS NOT NULL" : `${fresh} i`
    }
    ${areNew ? '' : 'ORDER BY i.id, i.ref ON CONFLICT (id) DO NOTHING'}
    RETURNING ref, ${areNew ? '' : 'id,'} series, kind, priority, scheduled_at, source, holds, start_within_ms),
  r AS (INSERT INTO punctual.ready (kind, priority, lane, due_at, ref, series, turn, planned, retrying, limited)
    SELECT o.kind, o.priority, CASE WHEN o.kind = ANY(s.laned) THEN o.series ELSE 0 END, o.scheduled_at, o.ref, o.series, 1,
      o.source IN ('schedule', 'recovery'), false, o.holds IS NOT NULL OR o.start_within_ms IS NOT NULL
    FROM o, s),
  ${
    mayExpire
      ? `e AS (INSERT INTO punctual.expiry (expires_at, ref) SELECT scheduled_at + start_within_ms, ref FROM o
    WHERE start_within_ms IS NOT NULL ON CONFLICT DO NOTHING),`
      : ''
  }
  c AS (INSERT INTO punctual.tally (series, pending) SELECT series, count(*) FROM o GROUP BY series),
  n AS (SELECT count(*) AS created FROM o)
  SELECT g.now, g.is_current, n.created,
    ${areNew ? 'NULL' : "CASE WHEN n.created < cardinality($6::uuid[]) THEN (SELECT string_agg(id::text, ',') FROM o) END"} AS ids
    ${isTelling ? `, pg_notify($${last + 1}, $${last + 2})` : ''} FROM g, n`
}

/** What one call without a key sends, of a moment that is over; listeners are told, of nothing. */
export function insertNothing(channel: string): Statement {
  const manner = { areAlike: true, isLive: false, mayExpire: false, areNew: true, isPatient: true, isTelling: true }
  const none = commonNames.map(() => null)
  return { sql: insertText(manner), values: [0, 0, 0, '{}', '{}', '{}', '', '{}', '{}', '{}', ...none, channel, ''] }
}
