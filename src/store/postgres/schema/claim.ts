// The function of claims at the door: it lets work in and takes it, in one commit.
import { memberColumns, takeDue } from '../claim/take-due.ts'
import { planned } from './idle.ts'
import { names, rowOf } from './place.ts'

/** Rows whose pause has ended by itself come back. */
const wakePaused = (now: string) => `WITH woken AS (
        DELETE FROM punctual.waiting WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM punctual.waiting WHERE wake_at <= ${now} FOR UPDATE SKIP LOCKED)) RETURNING ${names}),
      back AS (INSERT INTO punctual.ready (${names}) SELECT ${names} FROM woken)
      INSERT INTO punctual.count_delta (series, waiting, pending, retrying)
        SELECT series, -count(*), count(*) FILTER (WHERE NOT retrying), count(*) FILTER (WHERE retrying) FROM woken GROUP BY series;`

/** The first due rows of all lanes, locked; those that another transaction holds are left out. */
const firstDue = (limit: string, dueBy: string, kinds: string) => `SELECT l.* FROM (
            SELECT r.series, r.ref FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority) CROSS JOIN LATERAL (
              SELECT i.series, i.ref, i.due_at FROM punctual.ready i
              WHERE NOT i.gate AND i.kind = k.ref AND i.priority = p.priority AND i.due_at <= ${dueBy} ORDER BY i.due_at, i.ref LIMIT ${limit}) r
            WHERE k.ref = ANY(${kinds}) ORDER BY p.priority, r.due_at, r.ref LIMIT ${limit}) f
          CROSS JOIN LATERAL (
            SELECT i.ctid AS tid, ${rowOf('i')} AS p FROM punctual.ready i
            WHERE i.series = f.series AND i.ref = f.ref AND NOT i.gate FOR UPDATE SKIP LOCKED) l`

const countRunning = `SELECT count(*) FROM punctual.claim c CROSS JOIN LATERAL unnest(c.refs, c.turns) m (ref, turn)
          WHERE (SELECT true FROM punctual.turn e WHERE e.ref = m.ref AND e.turn = m.turn LIMIT 1) IS NULL`

export const claimFunctions = (n: number): readonly string[] => [
  // Locks the door and lets in what may come in. now and due_by: the store's time, and until when work is taken.
  `CREATE FUNCTION punctual.open_door_${n}(
    given_now float8, given_due_by float8, OUT now float8, OUT due_by float8,
    OUT passed_refs bigint[], OUT passed_states text[], OUT passed_reasons text[], OUT asked text[], OUT granted_from float8
  ) LANGUAGE plpgsql ${planned} AS $$
  BEGIN
    PERFORM 1 FROM punctual.door FOR UPDATE;
    now := coalesce(given_now, punctual.now_ms());
    due_by := least(now, coalesce(given_due_by, now));
    ${wakePaused('now')}
    SELECT a.passed_refs, a.passed_states, a.passed_reasons, a.asked, a.granted_from
      INTO passed_refs, passed_states, passed_reasons, asked, granted_from FROM punctual.admit_${n}(now, due_by) a;
  END $$`,

  `CREATE FUNCTION punctual.claim_${n}(
    given_now float8, claim_id text, claim_token text, claim_node text, most int, given_due_by float8, kinds int[], cluster int, prompt_ms float8
  ) RETURNS TABLE (${memberColumns}) LANGUAGE plpgsql ${planned} AS $$
  #variable_conflict use_column
  DECLARE
    room int := most;
    running int;
    door record;
    places punctual.ready[];
    states text[];
    reasons text[];
    wakes float8[];
    has_pauses boolean;
  BEGIN
    -- The door is locked before the node.
    PERFORM 1 FROM punctual.door FOR UPDATE;
    PERFORM 1 FROM punctual.node WHERE boot = claim_node FOR KEY SHARE;
    IF FOUND AND NOT EXISTS (SELECT 1 FROM punctual.claim WHERE id = claim_id) THEN
      SELECT * INTO door FROM punctual.open_door_${n}(given_now, given_due_by);
      IF cluster IS NOT NULL THEN
        running := (${countRunning});
        room := greatest(0, least(room, cluster - running));
      END IF;
      has_pauses := EXISTS (SELECT 1 FROM punctual.pause WHERE NOT swept);
      -- Ends or sets aside what may not run among the first rows, until all of them may.
      WHILE has_pauses OR EXISTS (SELECT 1 FROM punctual.ready WHERE expires_at < door.now) LOOP
        WITH found AS MATERIALIZED (${firstDue('room', 'door.due_by', 'kinds')}),
          judged AS MATERIALIZED (
            SELECT v.tid, v.p, (v.j).state, (v.j).reason, (v.j).wake FROM (
              SELECT f.tid, f.p, CASE WHEN has_pauses OR (f.p).expires_at < door.now THEN punctual.verdict_${n}(f.p, door.now) END AS j
              FROM found f OFFSET 0) v WHERE (v.j).reason IS NOT NULL),
          gone AS (DELETE FROM punctual.ready WHERE ctid = ANY(ARRAY(SELECT tid FROM judged)))
        SELECT array_agg(j.p), array_agg(j.state), array_agg(j.reason), array_agg(j.wake) INTO places, states, reasons, wakes FROM judged j;
        EXIT WHEN places IS NULL;
        PERFORM punctual.pass_${n}(door.now, places, states, reasons, wakes, array_fill(false, ARRAY[cardinality(places)]), NULL);
        door.passed_refs := door.passed_refs || ARRAY(SELECT ref FROM unnest(places));
        door.passed_states := door.passed_states || states;
        door.passed_reasons := door.passed_reasons || reasons;
      END LOOP;
    ELSE
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
      function: { cluster: 'cluster', running: 'running', door: 'door', verdict: `punctual.verdict_${n}` },
    })};
    IF cluster IS NOT NULL AND cluster <= (${countRunning}) THEN UPDATE punctual.door SET is_full = true WHERE NOT is_full; END IF;
  END $$`,
]
