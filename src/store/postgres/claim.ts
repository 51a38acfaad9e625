import { PunctualError } from '../../errors.ts'
import { versionAt } from '../../model/job.ts'
import type { AttemptRecord, TurnRecord } from '../../model/occurrence.ts'
import { recoveries } from '../../model/turn.ts'
import { type OccurrenceRow, occurrenceColumns, occurrenceRecord, occurrenceWidth } from '../rows/occurrence-row.ts'
import type { ClaimAnswer, ClaimMember, ClaimRequest, Hint } from '../store.ts'
import { column } from './arrays.ts'
import { each } from './by-key.ts'
import { claimLimited } from './claim-limited.ts'
import type { Context } from './context.ts'
import type { Follow } from './database.ts'
import { readEntries } from './entries.ts'
import type { Floors } from './floors.ts'
import type { KnownClaims } from './known-claims.ts'
import type { Statement } from './session.ts'

export interface Claimed {
  readonly answer: ClaimAnswer
  readonly hints: readonly Hint[]
}

/** What a claim works with beside the context. */
export interface Claiming {
  readonly known: KnownClaims
  readonly floors: Floors
  /** Sends the statement behind that of somebody who is just creating work. */
  readonly follow?: Follow | null
}

type MemberRow = [...OccurrenceRow, dueAt: number, turn: number]

/** What the statement found before it took anything. */
interface Head {
  readonly now: number
  readonly isJoined: boolean
  readonly stands: boolean
  /** Why nothing was taken: limits, pauses or lanes are in play. */
  readonly isPlain: boolean
  /** When one that waits is looked at again by itself. */
  readonly wakeAt: number | null
  /** The next due of each lane that was read, for the next claim to begin at. */
  readonly lanes: readonly [kind: number, priority: number, nextDue: number | null][]
  /** By series: the newest version of the job, and when its latest run that has ended began. */
  readonly jobs: readonly [series: number, version: number, lastRunAt: number | null][]
}

/**
 * Takes what is due in one statement, where nothing but due times and priorities decides. Where limits, pauses, picks or a claim
 * made before play a part, the statement takes nothing, and the same is done with the keys locked.
 */
export async function claim(context: Context, claiming: Claiming, request: ClaimRequest): Promise<Claimed> {
  const { db, dictionary, facts } = context
  await dictionary.nameKinds(request.kinds)
  if (!isByDueAlone(context, request)) return claimLimited(context, claiming.known, request)
  const kinds = dictionary.kindRefs(request.kinds)
  await dictionary.lookUpBoots(db, [request.node])
  const node = dictionary.boot(request.node) ?? null
  const all: Follow = claiming.follow ?? ((sql, values) => db.all(sql, values))
  const rows = await all<MemberRow>(takeDue, [
    context.now(),
    request.id,
    request.token,
    node,
    request.limit,
    request.dueBy ?? null,
    column(kinds),
    facts.pauses.length === 0 ? facts.pauseRevision : -1,
    ...claiming.floors.columns(kinds),
  ])
  const [head, members] = split(rows)
  context.noteNow(head.now)
  if (!head.stands && !head.isJoined)
    throw new PunctualError('claim.lost', `Node ${request.node} is not known to the store and cannot claim`, {
      node: request.node,
    })
  if (head.stands || !head.isPlain)
    return claimLimited(context, claiming.known, request, {
      stands: head.stands,
      isWaking: head.wakeAt !== null && head.wakeAt <= head.now,
    })
  claiming.floors.note(head.now, head.lanes)
  if (members.length > 0) {
    claiming.known.add({
      id: request.id,
      token: request.token,
      members: new Map(
        members.map((row) => [
          row[0],
          { turn: row[20], series: row[2], dueAt: row[19], isPlain: row[7] !== 'live' || row[6] === null },
        ]),
      ),
    })
  }
  return {
    answer: { now: head.now, members: await describe(context, members, head), passed: [], nextDue: nextDue(head) },
    hints: [],
  }
}

/** Whether the order of due times and priorities is all that this claim goes by, as long as limits and pauses play no part. */
function isByDueAlone({ isCompat }: Context, { pick, clusterLimit }: ClaimRequest): boolean {
  return !isCompat && pick === undefined && clusterLimit === undefined
}

/** Whether a claim takes whatever is due by one statement, which may be sent behind another. */
export function canFollow(context: Context, request: ClaimRequest): boolean {
  return request.dueBy === undefined && isByDueAlone(context, request)
}

function nextDue({ wakeAt, lanes }: Head): number | null {
  const dues = [wakeAt, ...lanes.map(([, , due]) => due)].filter((due) => due !== null)
  return dues.length === 0 ? null : Math.min(...dues)
}

function split(rows: readonly MemberRow[]): [Head, MemberRow[]] {
  const members: MemberRow[] = []
  let head: Head | null = null
  // The head is the row without a handle.
  for (const row of rows) {
    if (row[0] === null) head = JSON.parse(row[18] as string) as Head
    else {
      row[5] ??= 'deferred'
      row[7] ??= 'ever'
      row[16] ??= row[19]
      row[17] ??= row[19]
      row[20] ??= 1
      members.push(row)
    }
  }
  // Here rather than by the server, which would move whole rows about.
  members.sort((a, b) => a[11] - b[11] || a[19] - b[19] || a[0] - b[0])
  return [head as Head, members]
}

async function describe(context: Context, rows: readonly MemberRow[], head: Head): Promise<ClaimMember[]> {
  const { db, dictionary, facts } = context
  await dictionary.learn(db, { kinds: rows.map((row) => row[3]), series: rows.map((row) => row[2]) })
  const changed = head.jobs.filter(
    ([series, version]) => facts.versions(series) === undefined || facts.newest(series) !== version,
  )
  await facts.refresh(
    db,
    changed.map(([series]) => series),
  )
  const lastRuns = new Map(head.jobs.map(([series, , lastRunAt]) => [series, lastRunAt]))
  const histories = await historiesOf(
    context,
    rows.filter((row) => row[20] > 1).map((row) => row[0]),
  )
  const inForce = new Map<number, ClaimMember['jobSettings']>()
  const settingsOf = (series: number, version: number, isPlanned: boolean) => {
    const versions = facts.versions(series) ?? []
    if (versions.length === 0) return null
    if (isPlanned) return versions.find((one) => one.version === version)?.spec.settings ?? null
    const known = inForce.get(series) ?? versionAt(versions, head.now).spec.settings
    inForce.set(series, known)
    return known
  }
  return rows.map((row) => {
    const { 0: ref, 2: series, 4: version, 5: source, 19: dueAt, 20: turn } = row
    const isPlanned = source === 'schedule' || source === 'recovery' || source === 'backfill'
    const history = histories.get(ref) ?? none
    return {
      ref,
      turn,
      record: occurrenceRecord(dictionary, row),
      dueAt,
      recoveries: recoveries(history.turns),
      jobSettings: settingsOf(series, version, isPlanned),
      lastRunAt: lastRuns.get(series) ?? null,
      ...history,
    }
  })
}

interface History {
  readonly turns: readonly TurnRecord[]
  readonly attempts: readonly AttemptRecord[]
}

const none: History = { turns: [], attempts: [] }

/** Only a later turn has a history. */
async function historiesOf({ db, dictionary }: Context, refs: readonly number[]): Promise<ReadonlyMap<number, History>> {
  const loaded = await readEntries(db, dictionary, refs, { withAttempts: true, claims: [] })
  return new Map(loaded.map(({ entry: { ref, turns, attempts } }) => [ref, { turns, attempts }]))
}

// What most rows have in common is left out, and put back by `split`: to write and read it costs more than to compare it.
const claimedColumns = occurrenceColumns
  .replace('o.source', "nullif(o.source, 'deferred')")
  .replace('o.uniqueness', "nullif(o.uniqueness, 'ever')")
  .replace('o.scheduled_at', 'nullif(o.scheduled_at, t.due_at)')
  .replace('o.created_at', 'nullif(o.created_at, t.due_at)')

const emptyRow = `NULL::bigint, NULL::uuid, NULL::int, NULL::int, NULL::int, NULL::punctual.source, NULL::text, NULL::punctual.uniqueness,
  NULL::text, NULL::text, NULL::text, NULL::smallint, NULL::text, NULL::text, NULL::text, NULL::float8, NULL::float8, NULL::float8`
if (emptyRow.split(',').length !== occurrenceWidth - 1) throw new Error('the head must have the columns of an occurrence')

// joined: the node, which is not declared gone meanwhile. g: whether this way is open. lane: one range of the index for each kind
// and priority, bounded below by what is known to be gone. found: the first of all lanes, read without a lock. wanted: how many of
// them each lane has. taken: so many of each lane, those skipped that another claim is just taking. In each lane the next is the
// first behind those that were wanted.
const takeDue = `WITH joined AS MATERIALIZED (SELECT boot FROM punctual.node WHERE boot = $4::int FOR KEY SHARE),
  g AS MATERIALIZED (
    SELECT t.now, least(t.now, coalesce($6::float8, t.now)) AS due_by, EXISTS (SELECT 1 FROM joined) AS is_joined,
      EXISTS (SELECT 1 FROM punctual.claim WHERE id = $2) AS stands,
      (SELECT wake_at FROM punctual.waiting WHERE kind = ANY($7::int[]) AND wake_at IS NOT NULL ORDER BY wake_at LIMIT 1) AS wake_at
    FROM (SELECT coalesce($1::float8, punctual.now_ms()) AS now) t),
  lane AS MATERIALIZED (
    SELECT k.ref AS kind, p.priority, k.laned, coalesce((
      SELECT f.due_at FROM unnest($9::int[], $10::smallint[], $11::float8[]) f (kind, priority, due_at)
      WHERE f.kind = k.ref AND f.priority = p.priority), '-infinity') AS floor
    FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority) WHERE k.ref = ANY($7::int[])),
  found AS MATERIALIZED (
    SELECT l.kind, l.priority, l.floor, r.limited FROM g, lane l CROSS JOIN LATERAL (
      SELECT due_at, ref, limited FROM punctual.ready
      WHERE kind = l.kind AND priority = l.priority AND lane = 0 AND due_at >= l.floor AND due_at <= g.due_by
      ORDER BY due_at, ref LIMIT $5) r
    ORDER BY l.priority, r.due_at, r.ref LIMIT $5),
  open AS MATERIALIZED (
    SELECT g.is_joined AND NOT g.stands AND (SELECT pause_revision FROM punctual.meta) = $8::bigint
      AND coalesce(g.wake_at > g.now, true) AND NOT EXISTS (SELECT 1 FROM lane WHERE laned)
      AND NOT EXISTS (SELECT 1 FROM found WHERE limited) AS is_plain FROM g),
  wanted AS MATERIALIZED (
    SELECT kind, priority, floor, count(*) AS many FROM found WHERE (SELECT is_plain FROM open) GROUP BY kind, priority, floor),
  taken AS (
    DELETE FROM punctual.ready WHERE ctid = ANY(ARRAY(
      SELECT r.ctid FROM g, wanted w CROSS JOIN LATERAL (
        SELECT ctid FROM punctual.ready
        WHERE kind = w.kind AND priority = w.priority AND lane = 0 AND due_at >= w.floor AND due_at <= g.due_by AND NOT limited
        ORDER BY due_at, ref LIMIT w.many FOR UPDATE SKIP LOCKED) r))
    RETURNING due_at, ref, series, turn, retrying),
  c AS (
    INSERT INTO punctual.claim (id, token, node, refs, turns, dues)
    SELECT $2, $3, $4::int, array_agg(ref), array_agg(turn), array_agg(due_at) FROM taken HAVING count(*) > 0),
  y AS (
    INSERT INTO punctual.tally (series, pending, retrying, running)
    SELECT series, -count(*) FILTER (WHERE NOT retrying), -count(*) FILTER (WHERE retrying), count(*) FROM taken GROUP BY series),
  head AS (
    SELECT json_build_object('now', g.now, 'isJoined', g.is_joined, 'stands', g.stands, 'isPlain', (SELECT is_plain FROM open), 'wakeAt', g.wake_at,
      'lanes', (SELECT coalesce(json_agg(json_build_array(l.kind, l.priority, (
          SELECT due_at FROM punctual.ready WHERE kind = l.kind AND priority = l.priority AND lane = 0 AND due_at >= l.floor
          ORDER BY due_at, ref OFFSET coalesce((SELECT many FROM wanted w WHERE w.kind = l.kind AND w.priority = l.priority), 0) LIMIT 1))), '[]')
        FROM lane l),
      'jobs', (SELECT coalesce(json_agg(json_build_array(d.series, coalesce((SELECT version FROM punctual.job WHERE series = d.series), 0),
          greatest((SELECT last_run_at FROM punctual.series WHERE ref = d.series), (
            SELECT last_run_at FROM punctual.tally WHERE series = d.series AND last_run_at IS NOT NULL ORDER BY last_run_at DESC LIMIT 1)))), '[]')
        FROM (SELECT DISTINCT series FROM taken) d))::text AS text FROM g)
  SELECT ${emptyRow}, head.text AS payload, NULL::float8 AS due_at, NULL::int AS turn FROM head
  UNION ALL
  SELECT ${claimedColumns}, t.due_at, nullif(t.turn, 1) FROM taken t
    CROSS JOIN ${each('occurrence', 'ref = t.ref')} o`

/** The same, for a node that is not there. */
export const claimNothing: Statement = { sql: takeDue, values: [0, '', '', null, 0, null, '{}', -1, '{}', '{}', '{}'] }
