// The statement that takes due work. It stands in two places: sent by itself where nothing but due times and priorities decides, and
// at the end of the function that first lets work in at the door.
import { each } from '../connection/by-key.ts'
import { currentJobs } from './current-jobs.ts'

/** The columns of the answer, with their types. The first row is the head, whose payload is JSON. */
export const memberColumns = `ref bigint, id uuid, series int, form int, scheduled_at float8, created_at float8, key text, entity text, parent uuid,
  extra text, payload text, due_at float8, turn int`

/** The expressions that the statement is made of: parameters, or variables of a function. */
export interface TakeDue {
  readonly now: string
  readonly dueBy: string
  readonly id: string
  readonly token: string
  readonly node: string
  readonly limit: string
  readonly kinds: string
  /** How late work with a rate may start. */
  readonly promptMs: string
  /** The starts of lanes, as a table with kind, priority and due_at. Without them lanes are read from the beginning. */
  readonly laneStarts?: string
  /** In the function: the cluster's limit, how many run, what the door has done, the rows that it hands over, and their order. */
  readonly function?: {
    readonly chosen: string
    readonly cluster: string
    readonly running: string
    readonly door: string
    readonly direct: string
    readonly verdict: string
  }
}

/** Whether something is due for the doorman, so nothing may be taken by due times alone. */
export const isDoorDue = (now: string, dueBy: string) => `(
  EXISTS (SELECT 1 FROM punctual.release WHERE free_at <= ${now}) OR EXISTS (SELECT 1 FROM punctual.pause WHERE NOT swept)
  OR EXISTS (SELECT 1 FROM punctual.waiting WHERE wake_at <= ${now})
  OR EXISTS (SELECT 1 FROM punctual.kind k CROSS JOIN LATERAL (
    SELECT 1 FROM punctual.ready r WHERE r.gate AND r.kind = k.ref AND r.due_at <= ${dueBy} LIMIT 1) r WHERE k.served AND k.gated))`

/** Starts of earlier turns have happened: they stay in their rates, even if this one is given back. */
const startsBefore = `before AS (
    UPDATE punctual.release SET ref = NULL WHERE ref = ANY(ARRAY(SELECT t.ref FROM taken t WHERE t.turn > 1 AND t.limits IS NOT NULL)))`

/** When a claim of these kinds is worth a try, apart from rows that are ready: a gate, the end of a pause, a key with a line. */
export const nextWake = (kinds: string) => `(SELECT min(n.at) FROM (
    SELECT (SELECT r.due_at FROM punctual.ready r WHERE r.gate AND r.kind = k.kind ORDER BY r.due_at, r.ref LIMIT 1) AS at
    FROM unnest(${kinds}) k (kind)
    UNION ALL ${nextWaits(kinds)}) n)`

/** The same without gated rows. */
export const nextWaits = (kinds: string) => `
    (SELECT w.wake_at FROM punctual.waiting w WHERE w.wake_at IS NOT NULL AND w.kind = ANY(${kinds}) ORDER BY w.wake_at LIMIT 1)
    UNION ALL
    (SELECT l.free_at FROM punctual.release l WHERE (SELECT true FROM punctual.waiting WHERE key IS NOT NULL LIMIT 1)
      AND (SELECT true FROM punctual.waiting w WHERE w.key = l.key AND w.kind = ANY(${kinds}) LIMIT 1) ORDER BY l.free_at LIMIT 1)`

/** Rows may have been committed since the function has judged those before them. */
const mayRun = (verdict: string) => `AND (
          (NOT EXISTS (SELECT 1 FROM punctual.pause WHERE NOT swept) AND (i.expires_at IS NULL OR i.expires_at >= g.now))
          OR (${verdict}(i, g.now)).reason IS NULL)`

// lane: one range of the index for each kind and priority, from the first row that may be there. due: whether any lane has work.
// joined: the node, which is not declared gone meanwhile. Its lock is a write, so a claim without work only reads the node. found: the
// first of all lanes, read without a lock; a single lane needs no such read. wanted: how many of them each lane has. taken: so many of
// each lane, without those that another claim is just taking. In each lane the next is the first behind the last that was taken. Values
// that most rows share, or that another column has, are sent as NULL.
export function takeDue(of: TakeDue): string {
  const { now, dueBy, id, token, node, limit, kinds, promptMs, laneStarts, function: own } = of
  const floor = laneStarts
    ? `coalesce((SELECT f.due_at FROM ${laneStarts} f (kind, priority, due_at) WHERE f.kind = k.ref AND f.priority = p.priority), '-infinity')`
    : `'-infinity'::float8`
  const isThere = `EXISTS (SELECT 1 FROM joined)${own ? '' : ` OR (NOT ${isAnyDue} AND EXISTS (SELECT 1 FROM punctual.node WHERE boot = ${node}))`}`
  return `WITH g AS MATERIALIZED (
    SELECT t.now, t.due_by, EXISTS (SELECT 1 FROM punctual.claim c WHERE c.id = ${id}) AS stands,
      ${own ? 'false' : isDoorDue('t.now', 't.due_by')} AS is_door_due
    FROM (SELECT n.now, least(n.now, coalesce(${dueBy}, n.now)) AS due_by FROM (SELECT ${now} AS now) n) t),
  lane AS MATERIALIZED (
    SELECT k.ref AS kind, p.priority, ${floor} AS floor
    FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority) WHERE k.ref = ANY(${kinds})),
  due AS MATERIALIZED (
    SELECT EXISTS (SELECT 1 FROM g, lane l CROSS JOIN LATERAL (
      SELECT 1 FROM punctual.ready i WHERE NOT i.gate AND i.kind = l.kind AND i.priority = l.priority AND i.due_at >= l.floor
        AND i.due_at <= g.due_by LIMIT 1) r) AS is_any),
  joined AS MATERIALIZED (SELECT boot FROM punctual.node WHERE boot = ${node} ${own ? '' : `AND ${isAnyDue}`} FOR KEY SHARE),
  found AS MATERIALIZED (
    SELECT l.kind, l.priority, l.floor, r.expires_at FROM g, lane l CROSS JOIN LATERAL (
      SELECT i.due_at, i.ref, i.expires_at FROM punctual.ready i
      WHERE NOT i.gate AND i.kind = l.kind AND i.priority = l.priority AND i.due_at >= l.floor AND i.due_at <= g.due_by
      ORDER BY i.due_at, i.ref LIMIT ${limit}) r
    ORDER BY l.priority, r.due_at, r.ref LIMIT ${limit}),
  open AS MATERIALIZED (
    SELECT j.is_joined, j.is_joined AND NOT g.stands AND NOT g.is_door_due AND NOT CASE WHEN EXISTS (SELECT 1 FROM punctual.ready WHERE expires_at < g.now)
      THEN EXISTS (SELECT 1 FROM found WHERE expires_at < g.now) ELSE false END AS is_plain FROM g, (SELECT ${isThere} AS is_joined) j),
  wanted AS MATERIALIZED (
    SELECT kind, priority, floor, ${limit} AS many FROM lane WHERE (SELECT is_plain FROM open) AND (SELECT count(*) FROM lane) = 1
    UNION ALL
    SELECT kind, priority, floor, count(*) FROM found WHERE (SELECT is_plain FROM open) AND (SELECT count(*) FROM lane) > 1
    GROUP BY kind, priority, floor),
  ${own ? 'picked' : 'taken'} AS (
    DELETE FROM punctual.ready WHERE ctid = ANY(ARRAY(
      SELECT r.tid FROM g, wanted w CROSS JOIN LATERAL (
        SELECT i.ctid AS tid FROM punctual.ready i
        WHERE NOT i.gate AND i.kind = w.kind AND i.priority = w.priority AND i.due_at >= w.floor AND i.due_at <= g.due_by ${own ? mayRun(own.verdict) : ''}
        ORDER BY i.due_at, i.ref LIMIT w.many FOR UPDATE SKIP LOCKED) r))
    RETURNING ready.kind, ready.priority, ready.due_at, ready.ref, ready.series, ready.turn, ready.retrying, ready.limits),${own ? takenWith(own.direct) : ''}
  made AS (
    INSERT INTO punctual.claim (id, token, node, refs, turns, dues)
    SELECT ${id}, ${token}, ${node}, array_agg(t.ref), array_agg(t.turn), array_agg(t.due_at)
    FROM (SELECT * FROM taken ORDER BY ${own ? `array_position(${own.chosen}, ref), ` : ''}priority, due_at, ref) t HAVING count(*) > 0),
  moved AS MATERIALIZED (
    SELECT t.series, count(*) AS many, count(*) FILTER (WHERE t.retrying) AS retrying FROM taken t GROUP BY t.series),
  counted AS (
    INSERT INTO punctual.count_delta (series, pending, retrying, running) SELECT series, retrying - many, -retrying, many FROM moved),
  ${startsBefore},
  rates AS (
    INSERT INTO punctual.release (key, free_at, slots, ref)
    SELECT l.value ->> 'key', g.now + (l.value ->> 'perMs')::float8 + ${promptMs}, 1, t.ref
    FROM g, taken t CROSS JOIN LATERAL jsonb_array_elements(t.limits) l (value) WHERE t.limits IS NOT NULL AND l.value ? 'perMs' RETURNING release.key, release.free_at),
  last AS MATERIALIZED (SELECT t.kind, t.priority, max(ARRAY[t.due_at, t.ref]) AS place FROM taken t GROUP BY t.kind, t.priority),
  head AS (
    SELECT json_build_object('now', g.now, 'isJoined', (SELECT is_joined FROM open), 'stands', g.stands,
      'isPlain', (SELECT is_plain FROM open),
      ${own ? functionHead(own) : ''}
      'wakeAt', least(${nextWake(kinds)}, (SELECT min(r.free_at) FROM rates r
        WHERE (SELECT true FROM punctual.waiting w WHERE w.key = r.key AND w.kind = ANY(${kinds}) LIMIT 1))),
      'lanes', (SELECT coalesce(json_agg(json_build_object('kind', l.kind, 'priority', l.priority, 'nextDue', (
          SELECT i.due_at FROM punctual.ready i WHERE NOT i.gate AND i.kind = l.kind AND i.priority = l.priority
            AND (i.due_at, i.ref) > (coalesce(b.place[1], l.floor), coalesce(b.place[2]::bigint, -1)) ORDER BY i.due_at, i.ref LIMIT 1))), '[]')
        FROM lane l LEFT JOIN last b ON b.kind = l.kind AND b.priority = l.priority),
      'jobs', ${currentJobs('SELECT series FROM moved')})::text AS text FROM g)
  SELECT NULL::bigint AS ref, NULL::uuid AS id, NULL::int AS series, NULL::int AS form, NULL::float8 AS scheduled_at, NULL::float8 AS created_at,
    NULL::text AS key, NULL::text AS entity, NULL::uuid AS parent, NULL::text AS extra, head.text AS payload, NULL::float8 AS due_at, NULL::int AS turn FROM head
  UNION ALL
  SELECT o.ref, o.id, o.series, o.form, nullif(o.scheduled_at, t.due_at), nullif(o.created_at, t.due_at), o.key, o.entity, o.parent, o.extra, o.payload,
    t.due_at, nullif(t.turn, 1)
  FROM taken t CROSS JOIN ${each('occurrence i', 'i.ref = t.ref')} o`
}

const isAnyDue = '(SELECT is_any FROM due)'

const takenWith = (direct: string) => `
  taken AS MATERIALIZED (
    SELECT * FROM picked
    UNION ALL SELECT kind, priority, due_at, ref, series, turn, retrying, limits FROM unnest(${direct})),`

function functionHead({ cluster, running, door }: NonNullable<TakeDue['function']>): string {
  return `'isFull', coalesce(${running} + (SELECT count(*) FROM taken) >= ${cluster}, false),
      'isLeft', (SELECT count(*) FROM punctual.ready r WHERE r.granted > 0 AND NOT r.gate) > (SELECT count(*) FROM picked t WHERE t.limits IS NOT NULL),
      'asked', ${door}.asked, 'grantedFrom', ${door}.granted_from,
      'passed', ${passedJson(door)},`
}

/** Work that has ended at the door, as JSON. */
export function passedJson(door: string): string {
  return `(SELECT coalesce(json_agg(json_build_object('id', o.id, 'tenant', s.tenant, 'job', s.job, 'state', p.state, 'reason', p.reason) ORDER BY p.at), '[]')
        FROM unnest(${door}.passed_refs, ${door}.passed_states, ${door}.passed_reasons) WITH ORDINALITY p (ref, state, reason, at)
        JOIN punctual.occurrence o ON o.ref = p.ref JOIN punctual.series s ON s.ref = o.series WHERE p.state IS NOT NULL)`
}
