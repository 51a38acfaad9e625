import { Client } from 'pg'
import { endStates, occurrenceStates } from '../../src/model/lifecycle.ts'
import { inSchema } from '../../src/store/postgres/schema/tables.ts'

const isEnd = `IN (${endStates.map((state) => `'${state}'`).join(', ')})`

/** The state of each occurrence, by its tables. */
const places = `member AS (SELECT c.id, m.ref, m.turn FROM punctual.claim c CROSS JOIN unnest(c.refs, c.turns) m (ref, turn)),
  standing AS (SELECT m.* FROM member m JOIN punctual.occurrence o ON o.ref = m.ref
    WHERE NOT EXISTS (SELECT 1 FROM punctual.turn t WHERE t.ref = m.ref AND t.turn = m.turn)),
  last AS (SELECT DISTINCT ON (ref) ref, turn, "end"::text AS "end" FROM punctual.turn ORDER BY ref, turn DESC),
  stands AS (
    SELECT o.ref, o.series, f.uniqueness, o.key, coalesce(o.extra::jsonb -> 'limits', f.limits::jsonb) AS limits, l."end",
      (SELECT count(*) FROM punctual.ready r WHERE r.ref = o.ref) AS ready,
      (SELECT count(*) FROM punctual.waiting w WHERE w.ref = o.ref) AS waiting,
      (SELECT count(*) FROM punctual.dead d WHERE d.ref = o.ref) AS dead,
      (SELECT count(*) FROM standing s WHERE s.ref = o.ref) AS running,
      CASE WHEN l."end" ${isEnd} THEN 1 ELSE 0 END AS ended
    FROM punctual.occurrence o JOIN punctual.form f ON f.ref = o.form LEFT JOIN last l ON l.ref = o.ref),
  idle AS (SELECT ref, granted, limits FROM punctual.ready UNION ALL SELECT ref, granted, limits FROM punctual.waiting),
  granted AS (
    SELECT i.ref, l.value ->> 'key' AS key, (l.value ->> 'limit')::int AS "limit", false AS running FROM idle i
      CROSS JOIN jsonb_array_elements(i.limits) WITH ORDINALITY l (value, at) WHERE jsonb_typeof(i.limits) = 'array' AND l.at <= i.granted
    UNION ALL
    SELECT s.ref, l ->> 'key', (l ->> 'limit')::int, true FROM stands s CROSS JOIN jsonb_array_elements(s.limits) l
      WHERE s.running = 1 AND jsonb_typeof(s.limits) = 'array'
        -- Slots of rates come back by time, with a release of their own.
        AND l ->> 'perMs' IS NULL)`

/** Invariants, each as a query for rows that break it. */
const broken: Readonly<Record<string, string>> = {
  'an occurrence stands in no place, or in two': `SELECT ref, ready, waiting, dead, running, ended, "end" FROM stands
    WHERE ready + waiting + dead + running + ended <> 1`,
  'turns are not counted from one on, or a place is for another than the next': `SELECT s.ref, t.turns, t.last, p.turn FROM stands s
    LEFT JOIN (SELECT ref, count(*) AS turns, max(turn) AS last FROM punctual.turn GROUP BY ref) t ON t.ref = s.ref
    LEFT JOIN (SELECT ref, turn FROM punctual.ready UNION ALL SELECT ref, turn FROM punctual.waiting UNION ALL SELECT ref, turn FROM standing) p
      ON p.ref = s.ref
    WHERE t.turns <> t.last OR p.turn <> coalesce(t.last, 0) + 1`,
  'something has ended, and goes on': `SELECT a.ref, a.turn FROM punctual.turn a JOIN punctual.turn b ON b.ref = a.ref AND b.turn > a.turn
    WHERE a."end" ${isEnd}`,
  'something has a place and no occurrence': `SELECT ref FROM (SELECT ref FROM punctual.ready UNION ALL SELECT ref FROM punctual.waiting
    UNION ALL SELECT ref FROM punctual.dead) p
    WHERE NOT EXISTS (SELECT 1 FROM punctual.occurrence o WHERE o.ref = p.ref)`,
  'a claim stands without a node': `SELECT c.id, c.node FROM punctual.claim c WHERE NOT EXISTS (SELECT 1 FROM punctual.node n WHERE n.boot = c.node)`,
  'the count of a key is not that of its grants and of the slots that are not folded yet': `SELECT * FROM (
      SELECT key, count(*) AS held FROM granted GROUP BY key) g
    FULL JOIN (SELECT key, sum(slots) AS unfolded FROM punctual.release GROUP BY key) r USING (key)
    FULL JOIN punctual.limit_key k USING (key) WHERE coalesce(k.used, 0) <> coalesce(g.held, 0) + coalesce(r.unfolded, 0)`,
  'more hold a key than it allows': `SELECT key, count(*) FROM granted g WHERE running GROUP BY key HAVING count(*) > max("limit")`,
  'the head of a line fits, and nothing makes the doorman look': `SELECT h.key, h.ref FROM (
      SELECT DISTINCT ON (w.key) w.key, w.ref, (w.limits -> w.granted ->> 'limit')::int AS "limit" FROM punctual.waiting w
      JOIN punctual.kind k ON k.ref = w.kind WHERE w.key IS NOT NULL AND k.served ORDER BY w.key, w.priority, w.recovery, w.due_at, w.ref) h
    WHERE coalesce((SELECT used FROM punctual.limit_key k WHERE k.key = h.key), 0) < h."limit"
      AND NOT EXISTS (SELECT 1 FROM punctual.release r WHERE r.key = h.key)`,
  'a row that is ready lacks a grant, or one with all grants is gated': `SELECT ref FROM punctual.ready
    WHERE gate <> (granted < coalesce(jsonb_array_length(limits), 0))`,
  'one waits for a pause that is over': `SELECT w.ref FROM punctual.waiting w JOIN punctual.series s ON s.ref = w.series
    WHERE w.reason = 'pause' AND w.wake_at IS NULL AND NOT EXISTS (SELECT 1 FROM punctual.pause p WHERE p.to_at IS NULL
      AND coalesce(p.tenant, s.tenant) = s.tenant AND coalesce(p.job, s.job) = s.job)`,
  'a live key has no live occurrence': `SELECT l.series, l.key FROM punctual.live_key l
    WHERE NOT EXISTS (SELECT 1 FROM stands s WHERE s.ref = l.ref AND s.ended = 0)`,
  'a live occurrence lacks its key': `SELECT s.ref FROM stands s WHERE s.uniqueness = 'live' AND s.key IS NOT NULL AND s.ended = 0 AND s.dead = 0
    -- Once claimed, work may lose its key: to a debounced or throttled call, or to another while it was dead.
    AND EXISTS (SELECT 1 FROM punctual.ready r WHERE r.ref = s.ref AND r.turn = 1
      UNION ALL SELECT 1 FROM punctual.waiting w WHERE w.ref = s.ref AND w.turn = 1)
    AND NOT EXISTS (SELECT 1 FROM punctual.live_key l WHERE l.series = s.series AND l.key = s.key)`,
  'something of a pruned occurrence is left': `SELECT p.what, p.ref FROM (SELECT 'attempt' AS what, ref FROM punctual.attempt
      UNION ALL SELECT 'progress', ref FROM punctual.progress) p
    WHERE NOT EXISTS (SELECT 1 FROM punctual.occurrence o WHERE o.ref = p.ref)`,
  // The ends that a standing claim may ask for stay for a later look, which finds them by the last one.
  'the turns of a pruned occurrence are left for good': `SELECT l.ref, l.turn, l."end" FROM last l
    WHERE l."end" NOT ${isEnd} AND NOT EXISTS (SELECT 1 FROM punctual.occurrence o WHERE o.ref = l.ref)`,
  'an id is both in use and buried': 'SELECT o.ref FROM punctual.occurrence o JOIN punctual.tombstone x ON x.id = o.id',
  'counts differ from a recount': `SELECT * FROM (
      SELECT series, state, count(*)::bigint AS n FROM (SELECT series, CASE WHEN running = 1 THEN 'running' WHEN waiting = 1 THEN 'waiting' WHEN dead = 1 THEN 'dead'
        WHEN ended = 1 THEN "end" WHEN "end" IS NULL OR "end" = 'released' THEN 'pending' ELSE 'retrying' END AS state FROM stands
        UNION ALL SELECT g.series, g.state::text FROM punctual.range g CROSS JOIN generate_series(1, g.count)) s GROUP BY series, state) counted
    FULL JOIN (SELECT series, state, sum(n)::bigint AS n FROM (${counters('series', 'ref')} UNION ALL ${counters('count_delta', 'series')}) k
      GROUP BY series, state) kept USING (series, state)
    WHERE coalesce(counted.n, 0) <> coalesce(kept.n, 0)`,
  'the sums of a tenant are not those of its jobs': `SELECT * FROM punctual.tenant t FULL JOIN (
      SELECT tenant AS name, ${occurrenceStates.map((state) => `sum(${state})::bigint AS ${state}`).join(', ')} FROM punctual.series GROUP BY tenant
    ) k USING (name) WHERE ${occurrenceStates.map((state) => `coalesce(t.${state}, 0) <> coalesce(k.${state}, 0)`).join(' OR ')}`,
}

/** All that is wrong with the tables of a schema, whoever is writing to them: each look is one statement, which sees one moment. */
export async function brokenInvariants(url: string, schema: string): Promise<string[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await brokenInView(client, schema)
  } finally {
    await client.end()
  }
}

/** The same as a connection sees it, which may be in a transaction. */
export async function brokenInView(client: Client, schema: string): Promise<string[]> {
  const faults: string[] = []
  // Each query runs once, and compiling it would take longer than running it.
  await client.query('SET jit = off')
  for (const [name, query] of Object.entries(broken)) {
    const { rows } = await client.query(inSchema(`WITH ${places} ${query} LIMIT 5`, schema))
    if (rows.length > 0) faults.push(`${name}: ${JSON.stringify(rows)}`)
  }
  return faults
}

function counters(table: string, series: string): string {
  const pairs = occurrenceStates.map((state) => `('${state}', ${state})`).join(', ')
  return `SELECT ${series} AS series, v.state, v.n::bigint AS n FROM punctual.${table} CROSS JOIN LATERAL (VALUES ${pairs}) v (state, n)`
}
