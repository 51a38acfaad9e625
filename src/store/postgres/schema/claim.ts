// The function of claims at the door: it lets work in and takes it, in one commit.

import { memberColumns, passedJson, takeDue } from '../claim/take-due.ts'
import { unmet } from '../connection/failure.ts'
import { countRunning } from '../occurrence/running-members.ts'
import { planned } from './end-idle.ts'
import { liveColumnsOf, liveRowOf, names } from './live-columns.ts'

/** Rows whose pause has ended by itself come back. */
const wakePaused = (now: string) => `IF EXISTS (SELECT 1 FROM punctual.waiting WHERE wake_at <= ${now}) THEN WITH woken AS (
        DELETE FROM punctual.waiting WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM punctual.waiting WHERE wake_at <= ${now} FOR UPDATE SKIP LOCKED)) RETURNING ${names}),
      back AS (INSERT INTO punctual.ready (${names}) SELECT ${names} FROM woken)
      INSERT INTO punctual.count_delta (series, waiting, pending, retrying)
        SELECT series, -count(*), count(*) FILTER (WHERE NOT retrying), count(*) FILTER (WHERE retrying) FROM woken GROUP BY series;
    END IF;`

/** The first due rows of all lanes. */
const firstDue = (
  limit: string,
  dueBy: string,
  kinds: string,
) => `SELECT r.p FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority)
            CROSS JOIN LATERAL (
              SELECT ${liveRowOf('i')} AS p, i.due_at, i.ref FROM punctual.ready i
              WHERE NOT i.gate AND i.kind = k.ref AND i.priority = p.priority AND i.due_at <= ${dueBy} ORDER BY i.due_at, i.ref LIMIT ${limit}) r
            WHERE k.ref = ANY(${kinds}) ORDER BY p.priority, r.due_at, r.ref LIMIT ${limit}`

/** The result of a visit to the door, as columns of functions. */
const outcome = 'passed_refs bigint[], passed_states text[], passed_reasons text[], asked text[], granted_from float8'

const enterReady = (rows: string, where = 'true') =>
  `INSERT INTO punctual.ready (${names}) SELECT ${liveColumnsOf('u')} FROM unnest(${rows}) u WHERE ${where};`

export const claimFunctions = (n: number): readonly string[] => [
  // Undoes the transaction when what it counts on does not hold: what follows in it is on its way already.
  `CREATE FUNCTION punctual.must_${n}(fact boolean) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    IF fact THEN RETURN true; END IF;
    RAISE EXCEPTION 'the transaction counts on what does not hold' USING ERRCODE = '${unmet}';
  END $$`,

  // Lets in what may come in; the door is locked. now and due_by: the store's time, and until when work is taken.
  `CREATE FUNCTION punctual.open_door_${n}(
    given_now float8, given_due_by float8, free_keys text[], OUT now float8, OUT due_by float8, OUT granted_rows punctual.ready[],
    OUT ${outcome.replaceAll(', ', ', OUT ')}
  ) LANGUAGE plpgsql AS $$
  BEGIN
    now := coalesce(given_now, punctual.now_ms());
    due_by := least(now, coalesce(given_due_by, now));
    ${wakePaused('now')}
    SELECT a.granted_rows, a.passed_refs, a.passed_states, a.passed_reasons, a.asked, a.granted_from
      INTO granted_rows, passed_refs, passed_states, passed_reasons, asked, granted_from FROM punctual.admit_${n}(now, due_by, free_keys) a;
  END $$`,

  // Ends or sets aside what may not run among the first due rows, until all of them may.
  `CREATE FUNCTION punctual.sift_${n}(
    now float8, due_by float8, kinds int[], most int, OUT passed_refs bigint[], OUT passed_states text[], OUT passed_reasons text[]
  ) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    places punctual.ready[];
    states text[];
    reasons text[];
    wakes float8[];
    has_pauses boolean := EXISTS (SELECT 1 FROM punctual.pause WHERE NOT swept);
  BEGIN
    WHILE has_pauses OR EXISTS (SELECT 1 FROM punctual.ready WHERE expires_at < now) LOOP
      WITH judged AS MATERIALIZED (
          SELECT v.p, (v.j).state, (v.j).reason, (v.j).wake FROM (
            SELECT f.p, punctual.verdict_${n}(f.p, now) AS j FROM (${firstDue('most', 'due_by', 'kinds')}) f
            WHERE has_pauses OR (f.p).expires_at < now OFFSET 0) v WHERE (v.j).reason IS NOT NULL),
        free AS MATERIALIZED (
          SELECT l.tid, j.* FROM judged j CROSS JOIN LATERAL (
            SELECT i.ctid AS tid FROM punctual.ready i
            WHERE i.series = (j.p).series AND i.ref = (j.p).ref AND NOT i.gate FOR UPDATE SKIP LOCKED) l),
        gone AS (DELETE FROM punctual.ready WHERE ctid = ANY(ARRAY(SELECT tid FROM free)))
      SELECT array_agg(f.p), array_agg(f.state), array_agg(f.reason), array_agg(f.wake) INTO places, states, reasons, wakes FROM free f;
      EXIT WHEN places IS NULL;
      PERFORM punctual.pass_${n}(now, places, states, reasons, wakes, array_fill(false, ARRAY[cardinality(places)]), NULL);
      passed_refs := passed_refs || ARRAY(SELECT ref FROM unnest(places));
      passed_states := passed_states || states;
      passed_reasons := passed_reasons || reasons;
    END LOOP;
  END $$`,

  // For claims that choose among all that is ready.
  `CREATE FUNCTION punctual.let_in_${n}(given_now float8, given_due_by float8)
  RETURNS TABLE (now float8, due_by float8, passed json, asked text[], granted_from float8) LANGUAGE plpgsql ${planned} AS $$
  #variable_conflict use_column
  DECLARE
    door record;
  BEGIN
    SELECT * INTO door FROM punctual.open_door_${n}(given_now, given_due_by, NULL);
    ${enterReady('door.granted_rows')}
    RETURN QUERY SELECT door.now, door.due_by, ${passedJson('door')}, door.asked, door.granted_from;
  END $$`,

  // free_keys, is_riding: it follows the end of turns in their transaction, which frees these keys, and undoes it rather than take nothing.
  // chosen: takes these, in this order, rather than the first that are due; those that may not run end, as far as there is room.
  `CREATE FUNCTION punctual.claim_${n}(
    given_now float8, claim_id text, claim_token text, claim_node text, most int, given_due_by float8, kinds int[], cluster int, prompt_ms float8,
    free_keys text[], is_riding boolean, chosen bigint[]
  ) RETURNS TABLE (${memberColumns}) LANGUAGE plpgsql ${planned} AS $$
  #variable_conflict use_column
  DECLARE
    room int := most;
    running int;
    door record;
    sifted record;
    direct punctual.ready[];
    places punctual.ready[];
    states text[];
    reasons text[];
    wakes float8[];
    has_pauses boolean := EXISTS (SELECT 1 FROM punctual.pause WHERE NOT swept);
  BEGIN
    -- The door is locked before the node.
    PERFORM 1 FROM punctual.door FOR UPDATE;
    PERFORM 1 FROM punctual.node WHERE boot = claim_node FOR KEY SHARE;
    IF FOUND AND NOT EXISTS (SELECT 1 FROM punctual.claim WHERE id = claim_id) THEN
      SELECT * INTO door FROM punctual.open_door_${n}(given_now, given_due_by, free_keys);
      IF cluster IS NOT NULL THEN
        running := (${countRunning});
        room := greatest(0, least(room, cluster - running));
      END IF;
      -- What was let in is taken without a row in ready, where no other work is due.
      IF chosen IS NOT NULL OR has_pauses OR EXISTS (${firstDue('1', 'door.due_by', 'kinds')}) THEN
        ${enterReady('door.granted_rows')}
      ELSE
        direct := ARRAY(SELECT ${liveRowOf('u')} FROM unnest(door.granted_rows) u WHERE u.kind = ANY(kinds) AND u.due_at <= door.due_by
          ORDER BY u.priority, u.due_at, u.ref LIMIT room);
        IF cardinality(direct) < cardinality(door.granted_rows) THEN
          ${enterReady('door.granted_rows', 'NOT u.ref = ANY(ARRAY(SELECT ref FROM unnest(direct)))')}
        END IF;
        room := room - cardinality(direct);
      END IF;
      IF chosen IS NOT NULL THEN
        WITH found AS MATERIALIZED (
            SELECT c.at, i.tid, i.p, CASE WHEN has_pauses OR (i.p).expires_at < door.now THEN punctual.verdict_${n}(i.p, door.now) END AS j
            FROM unnest(chosen) WITH ORDINALITY c (ref, at) CROSS JOIN LATERAL (
              SELECT r.ctid AS tid, ${liveRowOf('r')} AS p FROM punctual.occurrence o JOIN punctual.ready r ON r.series = o.series AND r.ref = o.ref
              WHERE o.ref = c.ref AND NOT r.gate FOR UPDATE OF r SKIP LOCKED) i),
          judged AS (
            SELECT f.tid, f.p, (f.j).state, (f.j).reason, (f.j).wake, count(*) FILTER (WHERE (f.j).reason IS NULL) OVER (ORDER BY f.at) AS so_far
            FROM found f),
          fitting AS MATERIALIZED (SELECT * FROM judged j WHERE j.so_far < room OR (j.so_far = room AND j.reason IS NULL)),
          gone AS (DELETE FROM punctual.ready WHERE ctid = ANY(ARRAY(SELECT tid FROM fitting)))
        SELECT array_agg(f.p) FILTER (WHERE f.reason IS NULL), array_agg(f.p) FILTER (WHERE f.reason IS NOT NULL),
          array_agg(f.state) FILTER (WHERE f.reason IS NOT NULL), array_agg(f.reason) FILTER (WHERE f.reason IS NOT NULL),
          array_agg(f.wake) FILTER (WHERE f.reason IS NOT NULL) INTO direct, places, states, reasons, wakes FROM fitting f;
        IF places IS NOT NULL THEN
          PERFORM punctual.pass_${n}(door.now, places, states, reasons, wakes, array_fill(false, ARRAY[cardinality(places)]), NULL);
          door.passed_refs := door.passed_refs || ARRAY(SELECT ref FROM unnest(places));
          door.passed_states := door.passed_states || states;
          door.passed_reasons := door.passed_reasons || reasons;
        END IF;
        room := 0;
      ELSIF has_pauses OR EXISTS (SELECT 1 FROM punctual.ready WHERE expires_at < door.now) THEN
        SELECT * INTO sifted FROM punctual.sift_${n}(door.now, door.due_by, kinds, room);
        door.passed_refs := door.passed_refs || sifted.passed_refs;
        door.passed_states := door.passed_states || sifted.passed_states;
        door.passed_reasons := door.passed_reasons || sifted.passed_reasons;
      END IF;
    ELSE
      PERFORM punctual.must_${n}(NOT is_riding);
      SELECT coalesce(given_now, punctual.now_ms()) AS now, NULL::float8 AS due_by, NULL::bigint[] AS passed_refs, NULL::text[] AS passed_states,
        NULL::text[] AS passed_reasons, NULL::text[] AS asked, NULL::float8 AS granted_from INTO door;
    END IF;
    RETURN QUERY ${takeDue({
      now: 'door.now',
      dueBy: 'door.due_by',
      id: 'claim_id',
      token: 'claim_token',
      node: 'claim_node',
      limit: 'room',
      kinds: 'kinds',
      promptMs: 'prompt_ms',
      function: {
        cluster: 'cluster',
        running: 'running',
        door: 'door',
        direct: 'direct',
        chosen: 'chosen',
        verdict: `punctual.verdict_${n}`,
      },
    })};
    IF cluster IS NOT NULL AND cluster <= (${countRunning}) THEN UPDATE punctual.door SET is_full = true WHERE NOT is_full; END IF;
  END $$`,
]
