// Events of jobs that publish them: what rules/message.ts does, in the server's language. Ends are found by a trigger, whichever
// statement writes them; rows of other jobs do not reach it.
import { publishJob } from '../../../model/publish.ts'
import { messageForm } from '../../rules/message.ts'

const { version, source, unique, priority } = messageForm

export const messageFunctions = (n: number): readonly string[] => [
  `CREATE FUNCTION punctual.iso_${n}(ms float8) RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT to_char(to_timestamp(floor(ms) / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$`,

  // The form of all messages, made with the first one, and what claims need to know of its kind.
  `CREATE FUNCTION punctual.message_form_${n}() RETURNS punctual.form LANGUAGE plpgsql AS $$
  DECLARE
    shared punctual.form;
  BEGIN
    SELECT * INTO shared FROM punctual.form WHERE digest = '${publishJob}';
    IF NOT FOUND THEN
      INSERT INTO punctual.kind (name, priorities) VALUES ('${publishJob}', '{${priority}}')
        ON CONFLICT (name) DO UPDATE SET priorities = array_append(array_remove(kind.priorities, ${priority}::smallint), ${priority}::smallint);
      INSERT INTO punctual.form (digest, kind, version, source, uniqueness, hooked, priority)
        SELECT '${publishJob}', ref, ${version}, '${source}', '${unique}', false, ${priority} FROM punctual.kind WHERE name = '${publishJob}'
        ON CONFLICT DO NOTHING;
      SELECT * INTO shared FROM punctual.form WHERE digest = '${publishJob}';
    END IF;
    RETURN shared;
  END $$`,

  // Stores a message of one tenant, whose series may be new.
  `CREATE FUNCTION punctual.publish_${n}(t float8, tenant_name text, tenant_slot int, outlet jsonb, type text, body jsonb)
  RETURNS void LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    shared punctual.form;
    publish_series int;
    number bigint;
  BEGIN
    IF outlet IS NULL OR NOT coalesce(outlet -> 'on' ? type, true) THEN RETURN; END IF;
    shared := punctual.message_form_${n}();
    SELECT ref INTO publish_series FROM punctual.series WHERE tenant = tenant_name AND job = '${publishJob}';
    IF NOT FOUND THEN
      INSERT INTO punctual.series (tenant, slot, job) VALUES (tenant_name, tenant_slot, '${publishJob}') ON CONFLICT DO NOTHING;
      SELECT ref INTO publish_series FROM punctual.series WHERE tenant = tenant_name AND job = '${publishJob}';
    END IF;
    number := nextval('punctual.occurrence_ref_seq');
    INSERT INTO punctual.occurrence (ref, id, series, form, payload, scheduled_at, created_at) VALUES (
      number, gen_random_uuid(), publish_series, shared.ref, jsonb_build_object('channel', outlet -> 'channel', 'kind', outlet -> 'kind',
        'headers', jsonb_build_object('type', type), 'body', jsonb_build_object('type', type, 'tenantId', tenant_name) || body)::text, t, t);
    INSERT INTO punctual.ready (kind, priority, due_at, ref, series, turn, begun, retrying, planned, recovery, gate, granted)
      VALUES (shared.kind, shared.priority, t, number, publish_series, 1, false, false, false, false, false, 0);
    INSERT INTO punctual.count_delta (series, pending) VALUES (publish_series, 1);
  END $$`,

  `CREATE FUNCTION punctual.publish_end_${n}() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM punctual.publish_${n}(NEW.ended_at, s.tenant, s.slot, f.publish::jsonb,
      'occurrence.' || CASE NEW."end" WHEN 'dead' THEN 'failed' ELSE NEW."end"::text END,
      jsonb_build_object('job', s.job, 'occurrenceId', o.id, 'key', o.key, 'source', f.source, 'turn', NEW.turn, 'state', NEW."end",
        'reason', NEW.reason, 'scheduledAt', punctual.iso_${n}(o.scheduled_at), 'startedAt', punctual.iso_${n}(NEW.started_at),
        'endedAt', punctual.iso_${n}(NEW.ended_at)))
    FROM punctual.occurrence o JOIN punctual.form f ON f.ref = o.form JOIN punctual.series s ON s.ref = o.series WHERE o.ref = NEW.ref;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER publish_end AFTER INSERT ON punctual.turn FOR EACH ROW WHEN (NEW.is_published) EXECUTE FUNCTION punctual.publish_end_${n}()`,

  `CREATE FUNCTION punctual.publish_range_${n}() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM punctual.publish_${n}(NEW.recorded_at, s.tenant, s.slot, (v.spec::jsonb ->> 'publish')::jsonb, 'occurrence.' || NEW.state,
      jsonb_build_object('job', s.job, 'state', NEW.state, 'reason', NEW.reason, 'from', punctual.iso_${n}(NEW.from_at),
        'to', punctual.iso_${n}(NEW.to_at), 'count', NEW.count))
    FROM punctual.series s JOIN punctual.job_version v ON v.series = s.ref AND v.version = NEW.version WHERE s.ref = NEW.series;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER publish_range AFTER INSERT ON punctual.range FOR EACH ROW EXECUTE FUNCTION punctual.publish_range_${n}()`,
]
