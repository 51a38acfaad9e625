// The door in the server's language: the rule of store/rules/door.ts, which the suite compares it with. The caller has locked the row
// of `door`. Keys are visited rank by rank, all keys of a rank in one statement.
import { limitKinds } from '../../../model/limit.ts'
import { coversSeries } from '../../rules/sql/pauses.ts'
import { countLess, line, next, visit } from './door-visit.ts'
import { liveColumnsOf, liveRowOf, names } from './live-columns.ts'

const rank = (kind: string) => `array_position(ARRAY[${limitKinds.map((one) => `'${one}'`).join(', ')}], ${kind})`
const isComplete = (row: string) => `${row}.granted = jsonb_array_length(${row}.limits)`

const mostArrivals = 2000
const mostPasses = 3

const isHere = `${rank(`${next('u')} ->> 'kind'`)} = level AND NOT ${next('u')} ->> 'key' = ANY(barred)`
const queues = `u.begun OR coalesce(${next('u')} ->> 'policy', 'queue') = 'queue'`

/** Due rows of kinds that are served. */
const arrivals = (columns: string, first: string) => `SELECT r.* FROM punctual.kind k CROSS JOIN LATERAL (
            SELECT ${columns} FROM punctual.ready i WHERE i.gate AND i.kind = k.ref AND i.due_at <= due_by ${first}) r WHERE k.served AND k.gated`

/** Puts newcomers into the line of their next key. */
const enterLine = (from: string, where: string) => `WITH entered AS (
              INSERT INTO punctual.waiting (${names}, reason, key)
              SELECT ${liveColumnsOf('u', { gate: 'true' })}, (${next('u')} ->> 'kind')::punctual.wait_reason, ${next('u')} ->> 'key'
              FROM ${from} WHERE ${where} RETURNING series, retrying)
            INSERT INTO punctual.count_delta (series, waiting, pending, retrying)
              SELECT series, count(*), -count(*) FILTER (WHERE NOT retrying), -count(*) FILTER (WHERE retrying) FROM entered GROUP BY series;`

const notePassed = `passed_refs := passed_refs || ARRAY(SELECT ref FROM unnest(passed));
            passed_states := passed_states || states;
            passed_reasons := passed_reasons || reasons;`

export const doorFunctions = (n: number): readonly string[] => [
  // state and reason: the end of due work that may not run; reason alone: it waits for something else than a key.
  'CREATE TYPE punctual.verdict AS (state text, reason text, wake float8)',
  `CREATE FUNCTION punctual.verdict_${n}(p punctual.ready, t float8) RETURNS punctual.verdict LANGUAGE plpgsql STABLE AS $$
  DECLARE
    found punctual.verdict;
  BEGIN
    IF NOT p.begun AND t > p.expires_at THEN
      found.state := 'missed';
      found.reason := 'not started in time';
    ELSIF NOT p.begun AND p.planned AND EXISTS (
      SELECT 1 FROM punctual.series s, punctual.occurrence o, punctual.pause q
      WHERE s.ref = p.series AND o.ref = p.ref AND NOT q.swept AND ${coversSeries('q', 's')}
        AND q.from_at <= o.scheduled_at AND (q.to_at IS NULL OR o.scheduled_at < q.to_at)
    ) THEN
      found.state := 'skipped';
      found.reason := 'paused';
    ELSE
      SELECT 'pause', q.to_at INTO found.reason, found.wake FROM punctual.series s, punctual.pause q
        WHERE s.ref = p.series AND NOT q.swept AND ${coversSeries('q', 's')} AND q.from_at <= t AND (q.to_at IS NULL OR t < q.to_at)
        ORDER BY q.id LIMIT 1;
    END IF;
    RETURN found;
  END $$`,

  // The occurrence for which a refused newcomer ends, if any. new_refs: those that entered the line in the same visit.
  // newcomers: work that has passed this key and is on its way to the next. canceled: ended for the newcomer.
  `CREATE FUNCTION punctual.refuse_${n}(
    t float8, p punctual.ready, new_refs bigint[], newcomers punctual.ready[], OUT rival bigint, OUT canceled bigint, OUT why text, OUT asked text
  ) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    wanted jsonb := ${next('p')};
    last bigint := (SELECT holder FROM punctual.limit_key WHERE key = wanted ->> 'key');
    moving punctual.ready;
    done record;
  BEGIN
    IF wanted ->> 'policy' = 'cancel-previous' AND last IS NOT NULL THEN
      why := 'gave way to ' || (SELECT id FROM punctual.occurrence WHERE ref = p.ref);
      SELECT ${names} INTO moving FROM unnest(newcomers) WHERE ref = last;
      IF FOUND THEN
        PERFORM punctual.pass_${n}(t, ARRAY[moving], ARRAY['canceled'], ARRAY[why], ARRAY[NULL::float8], ARRAY[false], NULL);
        canceled := last;
      ELSE
        SELECT * INTO done FROM punctual.cancel_${n}(t, last, why, false);
        IF done.is_new THEN canceled := last; END IF;
        asked := done.node;
      END IF;
    END IF;
    IF wanted ->> 'policy' = 'skip' THEN
      SELECT o.ref INTO rival FROM punctual.occurrence o JOIN punctual.form f ON f.ref = o.form
        WHERE o.ref = last AND f.source <> 'recovery';
    END IF;
    IF rival IS NULL THEN
      SELECT c.ref INTO rival FROM punctual.waiting c WHERE c.key = wanted ->> 'key' AND NOT c.recovery
        AND (NOT c.ref = ANY(new_refs)
          OR (c.priority, c.recovery, c.due_at, c.ref) < (p.priority, p.recovery, p.due_at, p.ref))
        ${line} LIMIT 1;
    END IF;
  END $$`,

  // free_keys: a freed slot of each, beside those in the table. granted_rows: work that has all its keys and is in no table yet.
  `CREATE FUNCTION punctual.admit_${n}(
    t float8, due_by float8, free_keys text[], OUT granted_rows punctual.ready[],
    OUT passed_refs bigint[], OUT passed_states text[], OUT passed_reasons text[], OUT asked text[], OUT granted_from float8
  ) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    served int[] := ARRAY(SELECT ref FROM punctual.kind WHERE kind.served);
    has_pauses boolean := EXISTS (SELECT 1 FROM punctual.pause WHERE NOT swept);
    is_missing boolean;
    touched text[];
    ranks int[];
    slots int[];
    freed jsonb;
    found_refs bigint[];
    found_keys text[];
    barred text[];
    newcomers punctual.ready[];
    here punctual.ready[];
    keys text[];
    again text[];
    chunk int;
    admitted punctual.ready[];
    refused punctual.ready[];
    undecided punctual.ready[];
    passed punctual.ready[];
    states text[];
    reasons text[];
    wakes float8[];
    lines text[];
    new_refs bigint[];
    one punctual.ready;
    judged record;
  BEGIN
    FOR pass IN 1..${mostPasses} LOOP
      barred := '{}';
      -- Most visits find freed slots alone, or arrivals: to look first costs less than a statement that writes nothing.
      touched := NULL;
      ranks := NULL;
      newcomers := NULL;
      -- Freed slots. Those of keys with a line are counted with its visit.
      IF free_keys IS NOT NULL OR EXISTS (SELECT 1 FROM punctual.release WHERE free_at <= t) THEN
        WITH gone AS (DELETE FROM punctual.release r WHERE r.free_at <= t RETURNING r.key, r.slots),
          f AS MATERIALIZED (
            SELECT g.key, g.slots, (SELECT w.reason::text FROM punctual.waiting w WHERE w.key = g.key LIMIT 1) AS kind,
              g.slots > 0 AND (SELECT true FROM punctual.limit_key l WHERE l.key = g.key) IS NULL AS is_missing
            FROM (SELECT key, sum(slots)::int AS slots FROM (SELECT key, slots FROM gone UNION ALL SELECT key, 1 FROM unnest(free_keys) key) u
              GROUP BY key OFFSET 0) g),
          less AS (${countLess('key, slots, NULL FROM f WHERE slots > 0 AND kind IS NULL')})
        SELECT array_agg(f.key) FILTER (WHERE f.kind IS NOT NULL), array_agg(${rank('f.kind')}) FILTER (WHERE f.kind IS NOT NULL),
          array_agg(f.slots) FILTER (WHERE f.kind IS NOT NULL), bool_or(f.is_missing) INTO touched, ranks, slots, is_missing FROM f;
        free_keys := NULL;
        IF is_missing THEN RAISE EXCEPTION 'a limit key was released that nobody holds'; END IF;
      END IF;
      -- Arrivals. The key of one that another transaction holds does not advance in this pass: its rollback would break the order.
      IF EXISTS (${arrivals('i.ref', 'LIMIT 1')}) THEN
        WITH found AS MATERIALIZED (
            ${arrivals(`i.series, i.ref, i.due_at, ${next('i')} ->> 'key' AS key`, `ORDER BY i.due_at, i.ref LIMIT ${mostArrivals}`)}
            ORDER BY r.due_at, r.ref LIMIT ${mostArrivals}),
          free AS MATERIALIZED (
            SELECT l.tid FROM found f CROSS JOIN LATERAL (
              SELECT i.ctid AS tid FROM punctual.ready i WHERE i.series = f.series AND i.ref = f.ref AND i.gate FOR UPDATE SKIP LOCKED) l),
          gone AS (DELETE FROM punctual.ready p WHERE p.ctid = ANY(ARRAY(SELECT tid FROM free)) RETURNING p)
        SELECT (SELECT array_agg(g.p) FROM gone g), array_agg(f.ref), array_agg(f.key) INTO newcomers, found_refs, found_keys FROM found f;
        IF cardinality(newcomers) IS DISTINCT FROM cardinality(found_refs) THEN
          barred := ARRAY(SELECT f.key FROM unnest(found_refs, found_keys) f (ref, key)
            WHERE NOT EXISTS (SELECT 1 FROM unnest(newcomers) u WHERE u.ref = f.ref));
          INSERT INTO punctual.release (key, free_at, slots)
            SELECT k.key, t, k.slots FROM unnest(touched, slots) k (key, slots) WHERE k.key = ANY(barred);
        END IF;
      END IF;
      EXIT WHEN newcomers IS NULL AND touched IS NULL;
      IF newcomers IS NOT NULL AND (has_pauses OR EXISTS (SELECT 1 FROM unnest(newcomers) u WHERE u.expires_at < t AND NOT u.begun)) THEN
        SELECT array_agg(j.p) FILTER (WHERE j.reason IS NULL), array_agg(j.p) FILTER (WHERE j.reason IS NOT NULL),
          array_agg(j.state) FILTER (WHERE j.reason IS NOT NULL), array_agg(j.reason) FILTER (WHERE j.reason IS NOT NULL),
          array_agg(j.wake) FILTER (WHERE j.reason IS NOT NULL) INTO newcomers, passed, states, reasons, wakes
          FROM (SELECT v.p, (v.j).* FROM (SELECT newcomers[i] AS p, punctual.verdict_${n}(newcomers[i], t) AS j
            FROM generate_subscripts(newcomers, 1) i OFFSET 0) v) j;
        IF passed IS NOT NULL THEN
          PERFORM punctual.pass_${n}(t, passed, states, reasons, wakes, array_fill(false, ARRAY[cardinality(passed)]), NULL);
          passed_refs := passed_refs || ARRAY(SELECT ref FROM unnest(passed));
          passed_states := passed_states || states;
          passed_reasons := passed_reasons || reasons;
        END IF;
      END IF;
      FOR level IN 1..${limitKinds.length} LOOP
        chunk := 2;
        again := NULL;
        IF level = ANY(ranks) THEN
          SELECT array_agg(k.key), jsonb_object_agg(k.key, k.slots) FILTER (WHERE k.slots > 0) INTO again, freed
            FROM unnest(touched, ranks, slots) k (key, rank, slots) WHERE k.rank = level AND NOT k.key = ANY(barred);
        END IF;
        CONTINUE WHEN again IS NULL AND coalesce(cardinality(newcomers), 0) = 0;
        LOOP
          here := NULL;
          IF cardinality(newcomers) > 0 THEN
            SELECT array_agg(${liveRowOf('u')}) FILTER (WHERE ${isHere}), array_agg(${liveRowOf('u')}) FILTER (WHERE NOT (${isHere}))
              INTO here, newcomers FROM unnest(newcomers) u;
          END IF;
          EXIT WHEN here IS NULL AND again IS NULL;
          keys := ARRAY(SELECT ${next('u')} ->> 'key' FROM unnest(here) u UNION SELECT key FROM unnest(again) key);
          ${visit(n)}
          chunk := chunk * 8;
          newcomers := newcomers || undecided;
          IF admitted IS NOT NULL THEN
            granted_rows := granted_rows || ARRAY(SELECT ${liveRowOf('u', { gate: 'false' })} FROM unnest(admitted) u WHERE ${isComplete('u')});
            granted_from := least(granted_from, (SELECT min(u.due_at) FROM unnest(admitted) u WHERE ${isComplete('u')}));
            newcomers := newcomers || ARRAY(SELECT ${liveRowOf('u')} FROM unnest(admitted) u WHERE NOT ${isComplete('u')});
          END IF;
          IF passed IS NOT NULL THEN
            PERFORM punctual.pass_${n}(t, passed, states, reasons, wakes, array_fill(true, ARRAY[cardinality(passed)]), lines);
            ${notePassed}
          END IF;
          IF refused IS NOT NULL THEN
            ${enterLine('unnest(refused) u', queues)}
            new_refs := ARRAY(SELECT u.ref FROM unnest(refused) u WHERE ${queues});
            FOR one IN SELECT ${names} FROM unnest(refused) u WHERE NOT (${queues}) ORDER BY u.priority, u.recovery, u.due_at, u.ref LOOP
              -- The newcomer may cancel what was just granted.
              INSERT INTO punctual.ready (${names}) SELECT ${liveColumnsOf('u')} FROM unnest(granted_rows) u;
              granted_rows := NULL;
              SELECT * INTO judged FROM punctual.refuse_${n}(t, one, new_refs, newcomers);
              asked := asked || judged.asked;
              IF judged.canceled IS NOT NULL THEN
                newcomers := ARRAY(SELECT ${liveRowOf('u')} FROM unnest(newcomers) u WHERE u.ref <> judged.canceled);
                passed_refs := passed_refs || judged.canceled;
                passed_states := passed_states || 'canceled'::text;
                passed_reasons := passed_reasons || judged.why;
              END IF;
              IF judged.rival IS NULL THEN
                ${enterLine('(SELECT one.*) u', 'true')}
                new_refs := new_refs || one.ref;
              ELSE
                passed := ARRAY[one];
                states := ARRAY['skipped'];
                reasons := ARRAY['overlap: ' || (SELECT id FROM punctual.occurrence WHERE ref = judged.rival)];
                PERFORM punctual.pass_${n}(t, passed, states, reasons, ARRAY[NULL::float8], ARRAY[false], NULL);
                ${notePassed}
              END IF;
            END LOOP;
          END IF;
        END LOOP;
      END LOOP;
      -- Newcomers whose next key may not advance come again.
      IF cardinality(newcomers) > 0 THEN INSERT INTO punctual.ready (${names}) SELECT ${liveColumnsOf('u')} FROM unnest(newcomers) u; END IF;
      EXIT WHEN NOT EXISTS (SELECT 1 FROM punctual.release WHERE free_at <= t) OR barred <> '{}';
    END LOOP;
  END $$`,
]
