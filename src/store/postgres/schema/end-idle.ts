// Functions on occurrences that do not run: their ends, and what a cancel does. Each statement of a function has a snapshot of its
// own, so one that has waited for a lock reads afterwards what became of the row. Names carry the number of the schema, so nodes of
// two releases can share a database.
import { lastEnds } from '../occurrence/current-rows.ts'
import { liveColumnsOf, liveRowOf, names } from './live-columns.ts'

/** Settings of the functions that clients call. Plans are kept for as long as a connection: none may count on a table being small. */
export const planned = `SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off`

export const idleFunctions = (n: number): readonly string[] => [
  // Ends rows that have left their table, or sets them aside (state NULL) until wakes[i]. lines: the key whose line a row has left.
  `CREATE FUNCTION punctual.pass_${n}(
    t float8, places punctual.ready[], states text[], reasons text[], wakes float8[], waited boolean[], lines text[]
  ) RETURNS void LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  BEGIN
    INSERT INTO punctual.release (key, free_at, slots)
      SELECT l.value ->> 'key', t, 1 FROM unnest(places) p CROSS JOIN LATERAL jsonb_array_elements(p.limits) WITH ORDINALITY l (value, at)
        WHERE p.granted > 0 AND l.at <= p.granted
      UNION ALL SELECT key, t, 0 FROM unnest(lines) key WHERE key IS NOT NULL;
    INSERT INTO punctual.count_delta (series, pending, retrying, waiting, canceled, skipped, missed)
      SELECT p.series, -count(*) FILTER (WHERE NOT p.waited AND NOT p.retrying), -count(*) FILTER (WHERE NOT p.waited AND p.retrying),
        count(*) FILTER (WHERE p.state IS NULL) - count(*) FILTER (WHERE p.waited), count(*) FILTER (WHERE p.state = 'canceled'),
        count(*) FILTER (WHERE p.state = 'skipped'), count(*) FILTER (WHERE p.state = 'missed')
      FROM (SELECT (places[i]).series, (places[i]).retrying, states[i] AS state, waited[i] AS waited FROM generate_subscripts(places, 1) i) p
      GROUP BY p.series;
    INSERT INTO punctual.waiting (${names}, reason, wake_at)
      SELECT ${liveColumnsOf('(p)', { gate: '(p).limits IS NOT NULL', granted: '0' })}, reasons[i]::punctual.wait_reason, wakes[i]
      FROM (SELECT places[i] AS p, i FROM generate_subscripts(places, 1) i WHERE states[i] IS NULL) s;
    INSERT INTO punctual.turn (ref, turn, series, due_at, "end", ended_at, reason, is_published)
      SELECT (p).ref, (p).turn, (p).series, (p).due_at, states[i]::punctual.turn_end, t, reasons[i], coalesce(
        (SELECT f.publish IS NOT NULL FROM punctual.occurrence o JOIN punctual.form f ON f.ref = o.form WHERE o.ref = (s.p).ref), false)
      FROM (SELECT places[i] AS p, i FROM generate_subscripts(places, 1) i WHERE states[i] IS NOT NULL) s;
    DELETE FROM punctual.live_key WHERE (series, key) IN (
        SELECT o.series, o.key FROM generate_subscripts(places, 1) i JOIN punctual.occurrence o ON o.ref = (places[i]).ref
        WHERE states[i] IS NOT NULL AND o.key IS NOT NULL)
      AND ref IN (SELECT ref FROM unnest(places));
    INSERT INTO punctual.hook_note (ref, kind, free_at)
      SELECT o.ref, f.kind, t FROM generate_subscripts(places, 1) i JOIN punctual.occurrence o ON o.ref = (places[i]).ref
        JOIN punctual.form f ON f.ref = o.form WHERE states[i] = 'canceled' AND f.hooked
      ON CONFLICT (ref) DO UPDATE SET node = NULL, free_at = excluded.free_at;
  END $$`,

  // Ends those of the occurrences that do not run, and returns them. Rows that another transaction holds are waited for, or left alone.
  `CREATE FUNCTION punctual.end_idle_${n}(t float8, refs bigint[], state text, reason text, patient boolean)
  RETURNS bigint[] LANGUAGE plpgsql ${planned} AS $$
  #variable_conflict use_column
  DECLARE
    free bigint[] := refs;
    places punctual.ready[];
    lines text[];
    waited boolean[];
  BEGIN
    IF NOT patient THEN
      SELECT array_agg(l.ref) INTO free FROM unnest(refs) u (ref) JOIN punctual.occurrence o ON o.ref = u.ref CROSS JOIN LATERAL (
        SELECT p.ref FROM (SELECT ref FROM punctual.ready WHERE series = o.series AND ref = o.ref FOR UPDATE SKIP LOCKED) p
        UNION ALL
        SELECT p.ref FROM (SELECT ref FROM punctual.waiting WHERE series = o.series AND ref = o.ref FOR UPDATE SKIP LOCKED) p) l;
    END IF;
    WITH gone AS (
        SELECT o.series, o.ref FROM unnest(free) u (ref) JOIN punctual.occurrence o ON o.ref = u.ref ORDER BY o.ref),
      r AS (DELETE FROM punctual.ready p USING gone g WHERE p.series = g.series AND p.ref = g.ref RETURNING p),
      w AS (DELETE FROM punctual.waiting p USING gone g WHERE p.series = g.series AND p.ref = g.ref
        RETURNING ${liveRowOf('p')} AS p, p.key)
    SELECT array_agg(a.p), array_agg(a.key), array_agg(a.waited) INTO places, lines, waited
      FROM (SELECT p, NULL AS key, false AS waited FROM r UNION ALL SELECT p, key, true FROM w) a;
    IF places IS NULL THEN RETURN NULL; END IF;
    PERFORM punctual.pass_${n}(t, places, array_fill(state, ARRAY[cardinality(places)]), array_fill(reason, ARRAY[cardinality(places)]),
      array_fill(NULL::float8, ARRAY[cardinality(places)]), waited, lines);
    RETURN ARRAY(SELECT ref FROM unnest(places));
  END $$`,

  // Cancels one occurrence. One that moves meanwhile is looked for again. is_new: it ended by this call.
  `CREATE FUNCTION punctual.cancel_${n}(t float8, wanted bigint, reason text, patient boolean, OUT outcome text, OUT node text, OUT is_new boolean)
  LANGUAGE plpgsql ${planned} AS $$
  #variable_conflict use_column
  DECLARE
    held record;
  BEGIN
    is_new := false;
    FOR tries IN 1..50 LOOP
      IF punctual.end_idle_${n}(t, ARRAY[wanted], 'canceled', reason, patient) IS NOT NULL THEN
        outcome := 'canceled';
        is_new := true;
        RETURN;
      END IF;
      SELECT c.id, c.node, c.turns[array_position(c.refs, wanted)] AS turn INTO held FROM punctual.claim c
        WHERE c.refs @> ARRAY[wanted]
          AND NOT EXISTS (SELECT 1 FROM punctual.turn e WHERE e.ref = wanted AND e.turn = c.turns[array_position(c.refs, wanted)])
        ORDER BY c.seq DESC LIMIT 1;
      IF FOUND THEN
        UPDATE punctual.claim SET asked = true WHERE id = held.id;
        IF FOUND AND NOT EXISTS (SELECT 1 FROM punctual.turn e WHERE e.ref = wanted AND e.turn = held.turn) THEN
          INSERT INTO punctual.cancel_request (ref, turn, reason) VALUES (wanted, held.turn, reason)
            ON CONFLICT (ref) DO UPDATE SET turn = excluded.turn, reason = excluded.reason WHERE cancel_request.turn <> excluded.turn;
          outcome := 'canceling';
          node := held.node;
          RETURN;
        END IF;
      ELSE
        SELECT CASE WHEN e."end" = 'canceled' THEN 'canceled' ELSE 'ended' END INTO outcome
          FROM (SELECT "end" FROM punctual.turn WHERE ref = wanted ORDER BY turn DESC LIMIT 1) e
          WHERE e."end" IN (${lastEnds})
            OR EXISTS (SELECT 1 FROM punctual.dead d JOIN punctual.occurrence o ON o.series = d.series WHERE o.ref = wanted AND d.ref = wanted);
        IF FOUND OR NOT patient OR NOT EXISTS (SELECT 1 FROM punctual.occurrence WHERE ref = wanted) THEN RETURN; END IF;
      END IF;
    END LOOP;
    RAISE EXCEPTION 'the occurrence keeps moving' USING ERRCODE = '40001';
  END $$`,
]
