import { Client } from 'pg'
import { endStates, occurrenceStates } from '../../src/model/lifecycle.ts'
import { inSchema } from '../../src/store/postgres/schema.ts'

const isEnd = `IN (${endStates.map((state) => `'${state}'`).join(', ')})`

/** Where each occurrence stands, by what its tables say. */
const places = `member AS (SELECT c.id, m.ref, m.turn FROM punctual.claim c CROSS JOIN unnest(c.refs, c.turns) m (ref, turn)),
  standing AS (SELECT m.* FROM member m JOIN punctual.occurrence o ON o.ref = m.ref
    WHERE NOT EXISTS (SELECT 1 FROM punctual.turn t WHERE t.ref = m.ref AND t.turn = m.turn)),
  last AS (SELECT DISTINCT ON (ref) ref, turn, "end"::text AS "end" FROM punctual.turn ORDER BY ref, turn DESC),
  stands AS (
    SELECT o.ref, o.series, o.uniqueness, o.key, o.limits::json AS limits, l."end",
      (SELECT count(*) FROM punctual.ready r WHERE r.ref = o.ref) AS ready,
      (SELECT count(*) FROM punctual.waiting w WHERE w.ref = o.ref) AS waiting,
      (SELECT count(*) FROM punctual.dead d WHERE d.ref = o.ref) AS dead,
      (SELECT count(*) FROM standing s WHERE s.ref = o.ref) AS running,
      CASE WHEN l."end" ${isEnd} THEN 1 ELSE 0 END AS ended
    FROM punctual.occurrence o LEFT JOIN last l ON l.ref = o.ref),
  limits AS (
    SELECT s.ref, s.ready, s.waiting, s.running, h->>'kind' AS kind, h->>'key' AS key, (h->>'limit')::int AS "limit", h->>'perMs' AS per_ms
    FROM stands s CROSS JOIN json_array_elements(s.limits) h WHERE s.limits IS NOT NULL)`

/** What must never be found at any moment, each as a query for what breaks it. */
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
  'a hold has no live occurrence': `SELECT h.key, h.ref FROM punctual.hold h
    WHERE NOT EXISTS (SELECT 1 FROM stands s WHERE s.ref = h.ref AND s.ready + s.waiting + s.running = 1)`,
  'more hold a key than it allows': `SELECT key, count(*) FROM punctual.hold h GROUP BY key
    HAVING count(*) > (SELECT max(l."limit") FROM limits l WHERE l.key = h.key)`,
  'one that has not begun holds a key other than its place in the overlap': `SELECT h.key, h.ref FROM punctual.hold h
    JOIN stands s ON s.ref = h.ref JOIN limits l ON l.ref = h.ref AND l.key = h.key
    WHERE s.running = 0 AND s."end" IS NULL AND l.kind <> 'overlap'`,
  'more have started under a rate than it allows': `SELECT * FROM (
      SELECT r.key, r.at, r.until, lag(r.at, l."limit") OVER (PARTITION BY r.key ORDER BY r.seq) AS before FROM punctual.rate_start r
      JOIN (SELECT key, max("limit") AS "limit" FROM limits WHERE per_ms IS NOT NULL GROUP BY key) l ON l.key = r.key) s
    WHERE before > at - (until - at)`,
  'one runs without a key it needs': `SELECT l.ref, l.key FROM limits l WHERE l.running = 1 AND l.per_ms IS NULL
    AND NOT EXISTS (SELECT 1 FROM punctual.hold h WHERE h.ref = l.ref AND h.key = l.key)`,
  'one waits for a key that has room, and nobody is on the way to take it': `SELECT w.ref, w.key FROM punctual.waiting w
    WHERE w.key IS NOT NULL
      AND (SELECT count(*) FROM punctual.hold h WHERE h.key = w.key) < (SELECT max(l."limit") FROM limits l WHERE l.key = w.key)
      AND NOT EXISTS (SELECT 1 FROM limits l WHERE l.key = w.key AND l.ready = 1
        AND NOT EXISTS (SELECT 1 FROM punctual.hold h WHERE h.key = l.key AND h.ref = l.ref))`,
  'one waits for a pause that is over': `SELECT w.ref FROM punctual.waiting w JOIN punctual.series s ON s.ref = w.series
    WHERE w.reason = 'pause' AND w.wake_at IS NULL AND NOT EXISTS (SELECT 1 FROM punctual.pause p WHERE p.to_at IS NULL
      AND coalesce(p.tenant, s.tenant) = s.tenant AND coalesce(p.job, s.job) = s.job)`,
  'a live key has no live occurrence': `SELECT l.series, l.key FROM punctual.live_key l
    WHERE NOT EXISTS (SELECT 1 FROM stands s WHERE s.ref = l.ref AND s.ended = 0)`,
  'a live occurrence lacks its key': `SELECT s.ref FROM stands s WHERE s.uniqueness = 'live' AND s.key IS NOT NULL AND s.ended = 0
    AND NOT EXISTS (SELECT 1 FROM punctual.live_key l WHERE l.ref = s.ref)`,
  // A start is not asked for: what a beat notes of a turn that just ends stays until its deadline.
  'a cancel is noted for a turn that has ended': `SELECT p.ref, p.turn FROM punctual.cancel_request p
    WHERE EXISTS (SELECT 1 FROM punctual.turn t WHERE t.ref = p.ref AND t.turn = p.turn)
      OR NOT EXISTS (SELECT 1 FROM punctual.occurrence o WHERE o.ref = p.ref)`,
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
    FULL JOIN (SELECT series, state, sum(n)::bigint AS n FROM (${counters('series', 'ref')} UNION ALL ${counters('tally', 'series')}) k
      GROUP BY series, state) kept USING (series, state)
    WHERE coalesce(counted.n, 0) <> coalesce(kept.n, 0)`,
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
  // Each of these is asked once, and compiling it would take longer than running it.
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
