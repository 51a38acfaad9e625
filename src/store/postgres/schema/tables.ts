// The tables, as a list of numbered migrations. The table that has an occurrence's row is its state: ready, waiting, dead, in a
// claim, or ended. Hot rows are inserted and deleted, never updated. The word `punctual.` stands for the schema: see `inSchema`.
import { attemptStates, occurrenceStates, sources, turnEnds } from '../../../model/lifecycle.ts'
import { limitKinds } from '../../../model/limit.ts'
import { uniqueKinds } from '../../../model/occurrence.ts'
import { gateStates } from '../../messages/gate.ts'
import { claimFunctions } from './claim.ts'
import { doorFunctions } from './door.ts'
import { idleFunctions } from './end-idle.ts'
import { firstPages } from './first-pages.ts'
import { messageFunctions } from './message.ts'

/** One step of the schema. Steps are only ever added, never changed. */
export interface Migration {
  readonly number: number
  readonly statements: readonly string[]
}

const enumType = (name: string, values: readonly string[]) =>
  `CREATE TYPE punctual.${name} AS ENUM (${values.map((value) => `'${value}'`).join(', ')})`

/** Tables whose rows come and go are vacuumed after a fixed number of dead ones, however many live ones they have. */
const vacuumedOften = (table: string) =>
  `ALTER TABLE punctual.${table} SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0)`

/** Tables that only grow need their visibility map kept up, in steps that do not grow with them. */
const growing = (table: string) =>
  `ALTER TABLE punctual.${table} SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02)`

const stateColumns = (type: string) => occurrenceStates.map((state) => `${state} ${type} NOT NULL DEFAULT 0`).join(', ')

/** Texts that are compared for being the same: by their bytes, since a language's order costs several times as much. */
const word = 'text COLLATE "C"'

/** Occurrences that are created longer than this before or after they are due have an index by their instants. */
export const apartMs = 1_200_000
export const isApart = `abs(scheduled_at - created_at) > ${apartMs}`

// begun: an attempt may have begun. retrying: shown as such. planned: stands for an instant of a schedule. gate: lacks a grant.
// granted: how many of the limits it has. expires_at: not begun by then, it is missed.
const placeColumns = `kind int NOT NULL, priority smallint NOT NULL, due_at float8 NOT NULL, ref bigint NOT NULL, series int NOT NULL,
  turn int NOT NULL, begun boolean NOT NULL, retrying boolean NOT NULL, planned boolean NOT NULL, recovery boolean NOT NULL,
  gate boolean NOT NULL, granted smallint NOT NULL, expires_at float8, limits jsonb`

export const migrations: readonly Migration[] = [
  {
    number: 1,
    statements: [
      // Replaced by tests that set the clock of the database.
      `CREATE FUNCTION punctual.now_ms() RETURNS float8 LANGUAGE sql VOLATILE AS
        $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 $$`,
      enumType('source', sources),
      enumType('uniqueness', uniqueKinds),
      enumType('turn_end', turnEnds),
      enumType('attempt_state', attemptStates),
      enumType('wait_reason', ['stranded', 'pause', ...limitKinds]),
      enumType('passed_state', ['missed', 'skipped']),
      enumType('gate_state', gateStates),

      // One row each. The revision counts changes of pauses. full: a claim found the cluster's limit reached.
      `CREATE TABLE punctual.meta (one boolean PRIMARY KEY CHECK (one), pause_revision bigint NOT NULL)`,
      'INSERT INTO punctual.meta VALUES (true, 0)',
      `CREATE TABLE punctual.life (one boolean PRIMARY KEY CHECK (one), alive_since float8 NOT NULL, last_alive_at float8 NOT NULL)`,
      'INSERT INTO punctual.life VALUES (true, 0, 0)',
      `CREATE TABLE punctual.door (one boolean PRIMARY KEY CHECK (one), is_full boolean NOT NULL)`,
      'INSERT INTO punctual.door VALUES (true, false)',

      // Small numbers for long texts; rows of these three are never deleted. gated: rows of the kind may have limits.
      `CREATE TABLE punctual.kind (
        ref int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, priorities smallint[] NOT NULL DEFAULT '{}',
        gated boolean NOT NULL DEFAULT false, served boolean NOT NULL DEFAULT false
      )`,
      // A pair of tenant and job, with the folded counts of its occurrences.
      `CREATE TABLE punctual.series (
        ref int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant text COLLATE "C" NOT NULL, slot int NOT NULL, job text COLLATE "C" NOT NULL,
        ${stateColumns('bigint')}, last_run_at float8, failures_in_row bigint NOT NULL DEFAULT 0,
        last_version int NOT NULL DEFAULT 0, UNIQUE (tenant, job)
      )`,
      'CREATE INDEX series_job ON punctual.series (job, tenant) INCLUDE (ref)',
      'CREATE INDEX series_failing ON punctual.series (job, tenant) WHERE failures_in_row > 0',
      // The sums of the folded counts of its series.
      `CREATE TABLE punctual.tenant (name text COLLATE "C" PRIMARY KEY, ${stateColumns('bigint')})`,
      // The fields that many occurrences share. digest: of all of them.
      `CREATE TABLE punctual.form (
        ref int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, digest text NOT NULL UNIQUE, kind int NOT NULL, version int NOT NULL,
        source punctual.source NOT NULL, uniqueness punctual.uniqueness NOT NULL, hooked boolean NOT NULL,
        priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 9), start_within_ms float8, limits text, publish text
      )`,
      // Changes of counts, inserted beside the change itself, so two commits never meet in one row.
      `CREATE TABLE punctual.count_delta (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, series int NOT NULL, ${stateColumns('int')},
        last_run_at float8, succeeded boolean NOT NULL DEFAULT false, failures int NOT NULL DEFAULT 0
      )`,
      'CREATE INDEX count_delta_run ON punctual.count_delta (series, last_run_at) WHERE last_run_at IS NOT NULL',

      // extra, as JSON: settings, refs, span, replay, the key's version, and of rows with own settings their limits and start limit.
      `CREATE TABLE punctual.occurrence (
        ref bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, scheduled_at float8 NOT NULL, created_at float8 NOT NULL,
        id uuid NOT NULL UNIQUE, series int NOT NULL, form int NOT NULL, key ${word}, entity ${word}, parent uuid, extra text, payload text
      )`,
      'CREATE INDEX occurrence_series ON punctual.occurrence (series, ref)',
      'CREATE INDEX occurrence_key ON punctual.occurrence (key, series, ref) WHERE key IS NOT NULL',
      'CREATE INDEX occurrence_parent ON punctual.occurrence (parent, ref) WHERE parent IS NOT NULL',
      'CREATE INDEX occurrence_entity ON punctual.occurrence (entity, series, ref) WHERE entity IS NOT NULL',
      'CREATE INDEX occurrence_created ON punctual.occurrence USING brin (created_at, ref)',
      `CREATE INDEX occurrence_apart ON punctual.occurrence (scheduled_at, series) WHERE ${isApart}`,

      `CREATE TABLE punctual.ready (${placeColumns}, PRIMARY KEY (series, ref))`,
      'CREATE INDEX ready_due ON punctual.ready (kind, priority, due_at, ref) WHERE NOT gate',
      'CREATE INDEX ready_gate ON punctual.ready (kind, due_at, ref) WHERE gate',
      'CREATE INDEX ready_granted ON punctual.ready (ref) WHERE granted > 0',
      'CREATE INDEX ready_retrying ON punctual.ready (series, ref) WHERE retrying',
      'CREATE INDEX ready_planned ON punctual.ready (series, due_at) WHERE planned',
      'CREATE INDEX ready_expiry ON punctual.ready (expires_at) WHERE expires_at IS NOT NULL',

      `CREATE TABLE punctual.waiting (
        ${placeColumns}, reason punctual.wait_reason NOT NULL, key ${word}, wake_at float8, PRIMARY KEY (series, ref)
      )`,
      'CREATE INDEX waiting_line ON punctual.waiting (key, priority, recovery, due_at, ref) WHERE key IS NOT NULL',
      'CREATE INDEX waiting_wake ON punctual.waiting (wake_at) WHERE wake_at IS NOT NULL',
      'CREATE INDEX waiting_granted ON punctual.waiting (ref) WHERE granted > 0',
      "CREATE INDEX waiting_stranded ON punctual.waiting (series) WHERE reason = 'stranded'",
      "CREATE INDEX waiting_paused ON punctual.waiting (ref) WHERE reason = 'pause'",
      'CREATE INDEX waiting_expiry ON punctual.waiting (expires_at) WHERE expires_at IS NOT NULL',

      // holder: the occurrence that was granted the key last.
      `CREATE TABLE punctual.limit_key (key ${word} PRIMARY KEY, used int NOT NULL CHECK (used >= 0), holder bigint)`,
      // Freed slots that are not yet counted; 0 slots for a line that has changed. ref: the start that a rate's slot belongs to.
      `CREATE TABLE punctual.release (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key ${word} NOT NULL, free_at float8 NOT NULL, slots smallint NOT NULL, ref bigint
      )`,
      'CREATE INDEX release_free ON punctual.release (free_at)',
      'CREATE INDEX release_key ON punctual.release (key, free_at)',
      'CREATE INDEX release_ref ON punctual.release (ref) WHERE ref IS NOT NULL',

      `CREATE TABLE punctual.dead (
        series int NOT NULL, ref bigint NOT NULL, tenant text COLLATE "C" NOT NULL, cause text COLLATE "C" NOT NULL,
        died_at float8 NOT NULL, PRIMARY KEY (series, ref)
      )`,
      'CREATE INDEX dead_cause ON punctual.dead (cause, ref)',
      'CREATE INDEX dead_series ON punctual.dead (series, cause, ref)',
      'CREATE INDEX dead_tenant ON punctual.dead (tenant, cause, ref) INCLUDE (died_at)',
      'CREATE INDEX dead_ref ON punctual.dead (ref)',

      // One row for a batch; its members never change. asked: a cancel of one of them was requested.
      `CREATE TABLE punctual.claim (
        seq bigint GENERATED ALWAYS AS IDENTITY, id ${word} PRIMARY KEY, token text NOT NULL, node ${word} NOT NULL,
        refs bigint[] NOT NULL, turns int[] NOT NULL, dues float8[] NOT NULL, asked boolean NOT NULL DEFAULT false
      ) WITH (fillfactor = 80)`,
      // Compression would take longer than writing the arrays.
      ...['refs', 'turns', 'dues'].map((array) => `ALTER TABLE punctual.claim ALTER COLUMN ${array} SET STORAGE EXTERNAL`),
      'CREATE INDEX claim_node ON punctual.claim (node, seq)',

      `CREATE TABLE punctual.turn (
        ref bigint NOT NULL, ended_at float8 NOT NULL, started_at float8, due_at float8 NOT NULL, turn int NOT NULL, series int NOT NULL,
        "end" punctual.turn_end NOT NULL, attempt punctual.attempt_state, node text,
        settings text, tasks text, reason text, error text, result text, is_published boolean NOT NULL DEFAULT false, PRIMARY KEY (ref, turn)
      )`,
      `CREATE INDEX turn_end ON punctual.turn (series, "end", ref) WHERE "end" <> 'completed'`,
      `CREATE INDEX turn_end_ref ON punctual.turn ("end", ref) WHERE "end" <> 'completed'`,
      `CREATE TABLE punctual.attempt (
        ref bigint NOT NULL, started_at float8 NOT NULL, ended_at float8 NOT NULL, retry_at float8,
        seq bigint GENERATED ALWAYS AS IDENTITY, turn int NOT NULL, n int NOT NULL, state punctual.attempt_state NOT NULL, task text NOT NULL,
        error text, result text, PRIMARY KEY (ref, task, n)
      )`,
      'CREATE TABLE punctual.progress (ref bigint PRIMARY KEY, task text NOT NULL, done float8 NOT NULL, message text, at float8 NOT NULL)',
      `CREATE TABLE punctual.log (
        ref bigint NOT NULL, turn int NOT NULL, n int NOT NULL, task text NOT NULL, text text NOT NULL, PRIMARY KEY (ref, turn, task, n)
      )`,
      'CREATE TABLE punctual.start (ref bigint PRIMARY KEY, turn int NOT NULL, started_at float8 NOT NULL, deadline_at float8 NOT NULL)',
      'CREATE INDEX start_deadline ON punctual.start (deadline_at)',
      'CREATE TABLE punctual.cancel_request (ref bigint PRIMARY KEY, turn int NOT NULL, reason text)',
      `CREATE TABLE punctual.live_key (series int NOT NULL, key ${word} NOT NULL, ref bigint NOT NULL, PRIMARY KEY (series, key))`,
      'CREATE TABLE punctual.tombstone (id uuid PRIMARY KEY, until float8 NOT NULL, version float8)',
      'CREATE INDEX tombstone_until ON punctual.tombstone (until)',
      // Ends whose onComplete has not run: for whom it is kept, and from when on others may run it.
      'CREATE TABLE punctual.hook_note (ref bigint PRIMARY KEY, kind int NOT NULL, node text, free_at float8 NOT NULL)',
      'CREATE INDEX hook_note_free ON punctual.hook_note (kind, free_at)',

      // Rows are appended; segments of committed rows are sealed, and only dropped as a whole. audit_open: the digests of rows that are not sealed yet.
      `CREATE TABLE punctual.audit (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at float8 NOT NULL, act text NOT NULL, target text NOT NULL, actor text NOT NULL,
        action text NOT NULL, tenant text, job text, before text, after text, reason text, event text, refs text, data text,
        UNIQUE (act, target)
      )`,
      'CREATE INDEX audit_job ON punctual.audit (job, seq)',
      'CREATE INDEX audit_target ON punctual.audit (target, seq)',
      'CREATE TABLE punctual.audit_open (seq bigint PRIMARY KEY, digest text NOT NULL)',
      `CREATE TABLE punctual.audit_seal (
        segment int PRIMARY KEY, first bigint NOT NULL, last bigint NOT NULL, count int NOT NULL, rows text NOT NULL, content text NOT NULL,
        previous text NOT NULL, hash text NOT NULL, sealed_at float8 NOT NULL, newest_at float8 NOT NULL, dropped_at float8
      )`,
      `CREATE FUNCTION punctual.keep_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF TG_OP = 'DELETE' THEN
          IF EXISTS (SELECT 1 FROM punctual.audit_seal WHERE dropped_at IS NOT NULL AND OLD.seq BETWEEN first AND last) THEN RETURN OLD; END IF;
        END IF;
        RAISE EXCEPTION 'rows of the audit are never changed, and go only with their segment, by retention';
      END $$`,
      `CREATE TRIGGER keep_audit BEFORE UPDATE OR DELETE ON punctual.audit FOR EACH ROW EXECUTE FUNCTION punctual.keep_audit()`,
      `CREATE TRIGGER keep_audit_whole BEFORE TRUNCATE ON punctual.audit FOR EACH STATEMENT EXECUTE FUNCTION punctual.keep_audit()`,

      // Effects that happen once. claim, ref, turn: of the turn that reserved the key.
      `CREATE TABLE punctual.gate (
        tenant text COLLATE "C" NOT NULL, scope text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, state punctual.gate_state NOT NULL,
        fingerprint text, occurrence uuid, tries int NOT NULL, hits int NOT NULL, reserved_at float8 NOT NULL, ended_at float8,
        expires_at float8, result text, reason text, holder text NOT NULL, held_until float8 NOT NULL, claim text, ref bigint, turn int,
        PRIMARY KEY (tenant, scope, key)
      )`,
      "CREATE INDEX gate_open ON punctual.gate (tenant, scope, key) WHERE state <> 'done'",
      'CREATE INDEX gate_expiry ON punctual.gate (expires_at) WHERE expires_at IS NOT NULL',

      `CREATE TABLE punctual.job (
        series int PRIMARY KEY, version int NOT NULL, declared text, override text, tz text NOT NULL, cursor float8 NOT NULL,
        next_at float8, created_at float8 NOT NULL, updated_at float8 NOT NULL
      )`,
      'CREATE INDEX job_next ON punctual.job (next_at, series) WHERE next_at IS NOT NULL',
      `CREATE TABLE punctual.job_version (
        series int NOT NULL, version int NOT NULL, spec text NOT NULL, effective_at float8 NOT NULL, created_at float8 NOT NULL, by_whom text,
        PRIMARY KEY (series, version)
      )`,
      `CREATE TABLE punctual.range (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, series int NOT NULL, version int NOT NULL, from_at float8 NOT NULL,
        to_at float8 NOT NULL, count bigint NOT NULL, state punctual.passed_state NOT NULL, reason text NOT NULL, recorded_at float8 NOT NULL
      )`,
      'CREATE INDEX range_series ON punctual.range (series, seq)',
      // swept: it is over, and no row is left whose instant lies in it.
      `CREATE TABLE punctual.pause (
        id int PRIMARY KEY, tenant text, job text, from_at float8 NOT NULL, to_at float8, reason text, by_whom text,
        swept boolean NOT NULL DEFAULT false
      )`,
      'CREATE INDEX pause_unswept ON punctual.pause (id) WHERE NOT swept',
      // id: set on a row that a node has added and that is not summed up yet.
      `CREATE TABLE punctual.figure (
        ref bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text, tenant text NOT NULL, job text NOT NULL, at float8 NOT NULL,
        width float8 NOT NULL, data text NOT NULL
      )`,
      'CREATE UNIQUE INDEX figure_id ON punctual.figure (id) WHERE id IS NOT NULL',
      'CREATE INDEX figure_job ON punctual.figure (tenant, job, at)',
      'CREATE INDEX figure_at ON punctual.figure (width, at)',
      `CREATE TABLE punctual.token (
        id text PRIMARY KEY, name text NOT NULL, role text NOT NULL, tenants text, hash text NOT NULL, parent text, created_at float8 NOT NULL,
        created_by text, expires_at float8
      )`,
      `CREATE TABLE punctual.node (
        boot ${word} PRIMARY KEY, name text NOT NULL, pid int NOT NULL, concurrency int NOT NULL, kinds text NOT NULL, version text NOT NULL,
        tz text NOT NULL, ttl_ms float8 NOT NULL, release float8, declares text NOT NULL, picks boolean NOT NULL, draining boolean NOT NULL,
        parts text NOT NULL, started_at float8 NOT NULL, beat_at float8 NOT NULL, beats bigint NOT NULL, running int NOT NULL,
        seq bigint GENERATED ALWAYS AS IDENTITY, kind_refs int[] NOT NULL
      )`,

      ...[
        'ready',
        'waiting',
        'release',
        'limit_key',
        'claim',
        'count_delta',
        'live_key',
        'start',
        'cancel_request',
        'hook_note',
      ].map(vacuumedOften),
      ...['occurrence', 'turn', 'attempt'].map(growing),
      ...idleFunctions(1),
      ...doorFunctions(1),
      ...claimFunctions(1),
      ...messageFunctions(1),
      ...firstPages,
    ],
  },
]

export const newestSchema = migrations.length

/** A statement as it is sent. Values are never part of a text, so the word cannot stand for anything else. */
export function inSchema(sql: string, quotedSchema: string): string {
  return sql.replaceAll('punctual.', `${quotedSchema}.`)
}
