// The statement with which the doorman visits keys.
import { liveColumnsOf, liveRowOf } from './live-columns.ts'

const lookAgainMs = 25

/** The limit that a row lacks next. */
export const next = (row: string) => `(${row}.limits -> ${row}.granted)`

/** The order of a line. */
export const line = 'ORDER BY c.priority, c.recovery, c.due_at, c.ref'

/** Keys are found by a look into the index, however many there are. All of them have a row. */
export const countLess = (from: string) => `
              INSERT INTO punctual.limit_key (key, used, holder) SELECT ${from}
              ON CONFLICT (key) DO UPDATE SET used = limit_key.used - excluded.used,
                holder = coalesce(excluded.holder, CASE WHEN limit_key.used > excluded.used THEN limit_key.holder END)`

const overLine = '(PARTITION BY at_key ORDER BY priority, recovery, due_at, ref ROWS UNBOUNDED PRECEDING)'

const slotsFreed = (key: string) => `coalesce((freed ->> ${key})::int, 0)`
const used = (key: string) => `coalesce((SELECT l.used FROM punctual.limit_key l WHERE l.key = ${key}), 0) - ${slotsFreed(key)}`

/**
 * Visits keys. c: newcomers, and the first rows of each line. o: whether each fits, if all before it were let in. A row of a line that
 * another transaction holds closes the line. goes_on: all rows read of a line were let in or ended, and there may be more. net: what
 * the counts of keys change by, freed slots included. Only keys of an overlap, which has a policy, need their last holder: of the
 * others, a slot that is handed on leaves the row as it is.
 */
export const visit = (n: number) => `WITH k AS MATERIALIZED (
              SELECT u.key, ${used('u.key')} AS used, ${slotsFreed('u.key')} AS slots
              FROM (SELECT key COLLATE "C" AS key FROM unnest(keys) key) u),
            c AS (
              SELECT k.key AS at_key, k.used, false AS is_new, w.tid, ${liveColumnsOf('w')} FROM k CROSS JOIN LATERAL (
                SELECT c.ctid AS tid, ${liveColumnsOf('c')} FROM punctual.waiting c WHERE c.key = k.key AND c.kind = ANY(served)
                ${line} LIMIT chunk) w
              UNION ALL
              SELECT u.key, ${used('u.key')}, true, NULL::tid, ${liveColumnsOf('u')}
              FROM (SELECT i.*, (${next('i')} ->> 'key') COLLATE "C" AS key FROM unnest(here) i) u),
            v AS (
              SELECT j.*, (j.found).state, (j.found).reason, (j.found).wake FROM (
                SELECT c.*, (${next('c')} ->> 'limit')::int AS cap,
                  CASE WHEN NOT c.is_new AND (has_pauses OR c.expires_at < t) THEN punctual.verdict_${n}(${liveRowOf('c')}, t) END AS found
                FROM c OFFSET 0) j),
            o AS (SELECT v.*, v.reason IS NOT NULL OR v.used + count(*) FILTER (WHERE v.reason IS NULL) OVER ${overLine} <= v.cap AS fits FROM v),
            p AS (
              SELECT o.*, bool_and(o.fits) OVER ${overLine} AS is_next, count(*) FILTER (WHERE NOT o.is_new) OVER ${overLine} AS so_far,
                count(*) FILTER (WHERE NOT o.is_new) OVER (PARTITION BY at_key) AS length FROM o),
            q AS MATERIALIZED (
              SELECT p.*, p.is_new OR NOT p.is_next OR l.is_ours IS NOT NULL AS is_free FROM p LEFT JOIN LATERAL (
                SELECT true AS is_ours FROM punctual.waiting x
                WHERE NOT p.is_new AND p.is_next AND x.series = p.series AND x.ref = p.ref AND x.key = p.at_key FOR UPDATE SKIP LOCKED) l ON true),
            d AS (SELECT q.*, q.is_next AND bool_and(q.is_free) OVER ${overLine} AS is_open FROM q),
            e AS (
              SELECT d.*, d.length = chunk AND coalesce(bool_and(d.is_open) FILTER (WHERE NOT d.is_new) OVER (PARTITION BY at_key), true) AS goes_on
              FROM d),
            f AS MATERIALIZED (SELECT e.*, e.is_new AND e.goes_on AND e.so_far = chunk AS is_undecided FROM e),
            -- A transaction that holds a row of a line may be rolled back: the line is looked at again soon.
            held AS (
              INSERT INTO punctual.release (key, free_at, slots) SELECT DISTINCT at_key, t + ${lookAgainMs}, 0 FROM q WHERE NOT is_free),
            gone AS (DELETE FROM punctual.waiting WHERE ctid = ANY(ARRAY(SELECT tid FROM f WHERE NOT is_new AND is_open))),
            net AS MATERIALIZED (
              SELECT key, sum(slots) AS slots, bool_or(has_policy) AS has_policy,
                (array_agg(ref ORDER BY priority DESC, recovery DESC, due_at DESC, ref DESC) FILTER (WHERE ref IS NOT NULL))[1] AS holder
              FROM (
                SELECT at_key AS key, 1 AS slots, ${next('f')} ? 'policy' AS has_policy, ref, priority, recovery, due_at FROM f
                WHERE is_open AND reason IS NULL AND NOT is_undecided
                UNION ALL SELECT key, -slots, false, NULL, NULL, NULL, NULL FROM k WHERE slots > 0) c GROUP BY key),
            more AS (
              INSERT INTO punctual.limit_key (key, used, holder)
              SELECT key, slots, holder FROM net WHERE slots > 0 OR (slots = 0 AND has_policy)
              ON CONFLICT (key) DO UPDATE SET used = limit_key.used + excluded.used, holder = excluded.holder),
            less AS (${countLess('key, -slots, holder FROM net WHERE slots < 0')}),
            left_line AS (
              INSERT INTO punctual.count_delta (series, waiting, pending, retrying)
              SELECT series, -count(*), count(*) FILTER (WHERE NOT retrying), count(*) FILTER (WHERE retrying) FROM f
              WHERE NOT is_new AND is_open AND reason IS NULL GROUP BY series)
          SELECT array_agg(${liveRowOf('f', { granted: '(f.granted + 1)::smallint' })}) FILTER (WHERE is_open AND reason IS NULL AND NOT is_undecided),
            array_agg(${liveRowOf('f')}) FILTER (WHERE is_new AND NOT is_open AND NOT is_undecided), array_agg(${liveRowOf('f')}) FILTER (WHERE is_undecided),
            array_agg(${liveRowOf('f')}) FILTER (WHERE is_open AND reason IS NOT NULL), array_agg(state) FILTER (WHERE is_open AND reason IS NOT NULL),
            array_agg(reason) FILTER (WHERE is_open AND reason IS NOT NULL), array_agg(wake) FILTER (WHERE is_open AND reason IS NOT NULL),
            array_agg(at_key) FILTER (WHERE is_open AND reason IS NOT NULL), array_agg(DISTINCT at_key) FILTER (WHERE goes_on)
            INTO admitted, refused, undecided, passed, states, reasons, wakes, lines, again FROM f;
          freed := NULL;`
