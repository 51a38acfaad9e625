// The statement that creates occurrences.

import { defaultTenant } from '../../../model/job.ts'
import { unknownNode } from '../../rules/node.ts'
import { isPlanned } from '../../rules/verdict.ts'
import type { ClaimAnswer, NewOccurrence } from '../../store.ts'
import { checkClaim } from '../claim/reclaim.ts'
import { column, unquoted } from '../connection/arrays.ts'
import { lacks } from '../connection/by-key.ts'
import { ConflictError } from '../connection/failure.ts'
import type { Session, Statement } from '../connection/session.ts'
import type { Context } from '../context.ts'
import type { Notification } from '../hints/notifier.ts'
import { type Claiming, claimedAnswer, claimText, claimValues, mayClaim, refused } from './claiming.ts'
import { type Draft, Drafts } from './drafts.ts'

export interface Manner {
  /** The ids are known to be new, and never to have been buried. */
  readonly areNew?: boolean
  /** Waits for another transaction for as long as the session allows. Default true. */
  readonly isPatient?: boolean
  /** The transaction is ours, and holds a connection that others may wait for. */
  readonly isOwn?: boolean
  /** Notifies others with the same commit. */
  readonly along?: Notification | null
  /** Takes the rows in the same commit, where nothing is before them. */
  readonly claiming?: Claiming | null
}

export interface Inserted {
  readonly now: number
  /** The ids of those that are new. */
  readonly created: Set<string> | 'all'
  /** The number that was drawn for each row; empty where all are new. */
  readonly refs: readonly number[]
  readonly claimed?: ClaimAnswer | null
}

/** The jobs have changed since they were read. */
export class JobsChanged extends Error {
  constructor() {
    super('the jobs keep changing')
  }
}

interface Answer {
  readonly now: number
  readonly is_current: boolean
  readonly created: number
  readonly ids: string | null
  readonly refs: string | null
  readonly claimed: string | null
}

const mostTries = 5
/** A call may wait so long for another transaction: many may share it, or the connection that it waits on. */
export const longestWait = '100ms'

/** Inserts what is not in use yet. `refs`: the numbers of rows that an earlier try has drawn. */
export async function insertNew(
  context: Context,
  session: Session,
  rows: readonly NewOccurrence[],
  { isOwn = false, areNew = false, isPatient = true, along = null, claiming = null }: Manner,
  refs: readonly number[] = [],
): Promise<Inserted> {
  const { names, versions } = context
  for (let tries = 1; ; tries++) {
    const drafts = new Drafts(context, context.guessNow())
    const drafted = rows.map((row) => drafts.of(row))
    const distinct = [...new Set(drafted)]
    await names.addForms(distinct, isOwn)
    const { series, from, until } = drafts.checked
    const isLive = rows.some(({ unique, key }) => unique === 'live' && key !== null)
    const areAlike = distinct.length === 1
    const claim = areNew && claiming && mayClaim(claiming, rows, distinct) ? claiming : null
    if (claiming && !claim) await checkClaim(session, claiming.request)
    const [answer] = await session.rows<Answer>(insertText({ areAlike, isLive, areNew, isPatient, isClaiming: claim !== null }), [
      ...[context.now(), from, until, column(series), column(series.map((ref) => versions.newest(ref)))],
      ...ownColumns(rows, refs),
      ...(areAlike ? commonOf(context, distinct[0] as Draft) : commonColumns(context, drafted)),
      ...(claim ? claimValues(context, claim) : [along?.channel ?? null, along?.payload ?? null]),
    ])
    const { now, is_current: isCurrent, created, ids, refs: drawn, claimed: text } = answer as Answer
    context.noteNow(now)
    if (isCurrent) {
      if (claim && text === refused) throw unknownNode(claim.request)
      const claimed = claim && text ? await claimedAnswer(context, claim, text, { rows, drafts: drafted, now }) : null
      if (Number(created) === rows.length) return { now, created: 'all', refs: [], claimed }
      return { now, created: new Set(ids === null ? [] : ids.split(',')), refs: (drawn ?? '').split(',').map(Number) }
    }
    if (isOwn) throw new JobsChanged()
    if (tries >= mostTries) throw new ConflictError('the jobs keep changing')
    await versions.refresh(session, seriesOf(context, rows))
  }
}

/** The series that rows belong to, and those of their definitions. */
export function seriesOf({ names }: Context, rows: readonly NewOccurrence[]): number[] {
  const refs = new Set<number>()
  for (const { tenant, job, definition } of namesOf(rows)) {
    refs.add(names.series(tenant, job).ref)
    refs.add(names.series(defaultTenant, definition).ref)
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

function ownColumns(rows: readonly NewOccurrence[], refs: readonly number[]): (string | null)[] {
  return [
    unquoted(rows.map(({ id }) => id)),
    // Nothing stands for NULL.
    rows.map(({ payload }) => payload ?? '').join(separator),
    column(rows.map(({ key }) => key)),
    column(rows.map(({ due }) => (typeof due === 'number' ? due : null))),
    // Most are due at once, which is said by saying nothing.
    column(rows.map(({ due }) => (typeof due === 'number' || due.in === 0 ? null : due.in))),
    column(rows.map(({ scheduledAt }) => scheduledAt)),
    column(rows.map((_, at) => refs[at] ?? null)),
  ]
}

const ownTypes = { key: 'text', due_at: 'float8', due_in: 'float8', stands_for: 'float8', drawn: 'bigint' }

const commonTypes = {
  series: 'int',
  form: 'int',
  kind: 'int',
  priority: 'smallint',
  entity: 'text',
  parent: 'uuid',
  extra: 'text',
  limits: 'jsonb',
  start_within_ms: 'float8',
  is_live: 'boolean',
  planned: 'boolean',
  recovery: 'boolean',
}

type CommonValue = string | number | boolean | null

function commonOf({ names }: Context, { series, record, form, extra, isGated }: Draft): CommonValue[] {
  const { ref, kindRef } = names.form(form)
  const { priority, entity, parent, limits, startWithinMs, unique, source } = record
  return [
    ...[series, ref, kindRef, priority, entity, parent, extra, isGated ? JSON.stringify(limits) : null, startWithinMs],
    ...[unique === 'live', isPlanned(source), source === 'recovery'],
  ]
}

function commonColumns(context: Context, drafts: readonly Draft[]): (string | null)[] {
  const known = new Map<Draft, CommonValue[]>()
  const values = drafts.map((draft) => {
    const value = known.get(draft) ?? commonOf(context, draft)
    known.set(draft, value)
    return value
  })
  return Object.keys(commonTypes).map((_, at) => column(values.map((value) => value[at] as CommonValue)))
}

const texts = new Map<string, string>()

interface InsertManner extends Required<Omit<Manner, 'isOwn' | 'along' | 'claiming'>> {
  readonly isClaiming: boolean
  /** The common values are sent once. */
  readonly areAlike: boolean
  readonly isLive: boolean
}

function insertText(manner: InsertManner): string {
  const name = Object.values(manner).join()
  const known = texts.get(name)
  if (known) return known
  const text = writeText(manner)
  texts.set(name, text)
  return text
}

const written = 'id, series, form, key, entity, parent, extra, payload'

/**
 * All in one statement: whether what is known of the jobs still holds, the occurrences, and what goes with them. That an id is
 * neither in use nor buried is seen in one look: an insert alone would wait for a prune that is just burying it, and succeed. Ids
 * and keys are taken in order, so two calls that want the same ones do not block each other. Arrays are taken apart by the list of
 * a SELECT: what stands in a FROM is written down as a whole first.
 */
function writeText({ areAlike, isLive, areNew, isPatient, isClaiming }: InsertManner): string {
  const firstCommon = 13
  const common = Object.entries(commonTypes).map(([name, type], at) => {
    const value = `$${at + firstCommon}::${type}`
    return areAlike ? `${value} AS ${name}` : `unnest(${value}[]) AS ${name}`
  })
  const last = firstCommon + common.length - 1
  const own = Object.entries(ownTypes).map(([name, type], at) => `unnest($${at + 8}::${type}[]) AS ${name}`)
  const fresh = `(SELECT ${areNew ? `nextval('punctual.occurrence_ref_seq')` : `coalesce(drawn, nextval('punctual.occurrence_ref_seq'))`} AS ref,
      coalesce(due_at, g.now + coalesce(due_in, 0)) AS due, n.*, g.now
    FROM g, (SELECT unnest($6::uuid[]) AS id, unnest(string_to_array($7::text, chr(${separator.charCodeAt(0)}), '')) AS payload,
      ${own.join(', ')}, ${areAlike ? '' : `${common.join(', ')},`} generate_series(1, cardinality($6::uuid[])) AS at) n
    WHERE g.is_current ${isClaiming ? 'AND EXISTS (SELECT 1 FROM joined)' : ''})`
  const claim = isClaiming ? claimText(last + 1) : null
  // Work that is claimed at once is news to no other process. Without a channel nothing is sent.
  const [channel, payload] = [`$${last + 1}::text`, `$${last + 2}::text`]
  const telling = claim ? '' : `, CASE WHEN ${channel} IS NOT NULL THEN pg_notify(${channel}, ${payload}) END`
  const isFree = areNew ? 'true' : `${lacks('tombstone', 'id = i.id')} AND ${lacks('occurrence', 'id = i.id')}`
  return `WITH g AS MATERIALIZED (
    SELECT ${isPatient ? '' : `set_config('lock_timeout', '${longestWait}', true),`} t.now, t.now >= $2::float8 AND t.now < $3::float8 AND NOT EXISTS (
      SELECT 1 FROM unnest($4::int[], $5::int[]) e (series, newest) JOIN punctual.job j ON j.series = e.series
      WHERE j.version > e.newest) AS is_current
    FROM (SELECT coalesce($1::float8, punctual.now_ms()) AS now) t),
  ${claim?.with ?? ''}
  ${areAlike ? `shared AS MATERIALIZED (SELECT ${common.join(', ')}),` : ''}
  n AS MATERIALIZED ${areAlike ? `(SELECT * FROM ${fresh} f, shared)` : fresh},
  i AS MATERIALIZED (SELECT * FROM n i WHERE ${isFree}),
  ${
    isLive
      ? `l AS (INSERT INTO punctual.live_key (series, key, ref) SELECT series, key, ref FROM i WHERE is_live AND key IS NOT NULL
    ORDER BY series, key, ref ON CONFLICT DO NOTHING RETURNING ref),`
      : ''
  }
  o AS (INSERT INTO punctual.occurrence (ref, ${written}, scheduled_at, created_at)
    SELECT i.ref, ${written}, coalesce(i.stands_for, i.due), i.now FROM i
    ${isLive ? 'LEFT JOIN l ON l.ref = i.ref WHERE NOT is_live OR key IS NULL OR l.ref IS NOT NULL' : ''}
    ${areNew ? '' : 'ORDER BY i.id, i.ref ON CONFLICT (id) DO NOTHING'}
    RETURNING ref, id, series),
  r AS (INSERT INTO punctual.ready (kind, priority, due_at, ref, series, turn, begun, retrying, planned, recovery, gate, granted, expires_at, limits)
    SELECT i.kind, i.priority, i.due, i.ref, i.series, 1, false, false, i.planned, i.recovery, i.limits IS NOT NULL, 0,
      i.due + i.start_within_ms, i.limits FROM ${areNew ? 'i' : 'i JOIN o ON o.ref = i.ref'} ${claim ? 'WHERE NOT (SELECT is_open FROM open)' : ''}),
  ${claim?.made ?? ''}
  c AS (INSERT INTO punctual.count_delta (series, ${claim ? 'running, ' : ''}pending)
    SELECT series, ${claim ? 'CASE WHEN (SELECT is_open FROM open) THEN count(*) ELSE 0 END, CASE WHEN (SELECT is_open FROM open) THEN 0 ELSE count(*) END' : 'count(*)'}
    FROM o GROUP BY series),
  m AS (SELECT count(*) AS created FROM o)
  SELECT g.now, g.is_current, m.created,
    ${areNew ? 'NULL' : "CASE WHEN m.created < cardinality($6::uuid[]) THEN (SELECT string_agg(id::text, ',') FROM o) END"} AS ids,
    ${areNew ? 'NULL' : "CASE WHEN m.created < cardinality($6::uuid[]) THEN (SELECT string_agg(ref::text, ',' ORDER BY at) FROM n) END"} AS refs${claim?.select ?? ', NULL::text AS claimed'}
    ${telling} FROM g, m`
}

/** A call without a key, of a moment that is over; with a claim, for a node that is not there. */
export function insertNothing(isClaiming: boolean): Statement {
  const manner = { areAlike: true, isLive: false, areNew: true, isPatient: true, isClaiming }
  const none = Object.keys(commonTypes).map(() => null)
  const more = isClaiming ? ['', '', '', '{}', '{}', '{}', '{}'] : [null, null]
  return { sql: insertText(manner), values: [0, 0, 0, '{}', '{}', '{}', '', '{}', '{}', '{}', '{}', '{}', ...none, ...more] }
}
