// The tables, as a list of numbered migrations. The table that holds a row of live work is its state.
// All names carry a prefix, since handlers may keep other tables in the same file.
// Instants are REAL: callers may hand in fractions of a millisecond, and whole ones are stored as integers anyway.
import { attemptStates, endStates, sources, turnEnds } from '../../../model/lifecycle.ts'
import { limitKinds } from '../../../model/limit.ts'
import { gateStates } from '../../messages/gate.ts'

/** One step of the schema. Steps are only ever added, never changed. */
export interface Migration {
  readonly number: number
  readonly statements: readonly string[]
}

// SQLite builds a table for each IN list each time a row is checked, which costs more than the row; comparisons do not.
const oneOf = (column: string, values: readonly string[]) =>
  `CHECK (${values.map((value) => `${column} = '${value}'`).join(' OR ')})`

/** The condition on an end after which an occurrence may be pruned. A partial index needs it word for word. */
export const isLastEnd = `(${endStates.map((end) => `end = '${end}'`).join(' OR ')})`

/** The states that a series counts. `pending` and `running` follow from what is present and what is claimed. */
export const countedStates = ['waiting', 'retrying', 'dead', 'completed', 'failed', 'canceled', 'skipped', 'missed'] as const
export type CountedState = (typeof countedStates)[number]
/** The counts of a series that are also summed up by tenant. */
export const tenantSums = ['present', ...countedStates, 'missed_in_ranges', 'skipped_in_ranges'] as const

// Of live work. granted: so many of its limits. begun: some attempt may have. retrying: it is between two tries. planned: a scheduled
// instant that has not begun.
const work = `series INTEGER NOT NULL, turn INTEGER NOT NULL, granted INTEGER NOT NULL, begun INTEGER NOT NULL, retrying INTEGER NOT NULL,
  planned INTEGER NOT NULL`

/** Indexes that hold few rows, or none, and so cost the others nothing. */
const rareRows = (table: string) => [
  `CREATE INDEX ${table}_retrying ON ${table} (series, ref) WHERE retrying = 1`,
  `CREATE INDEX ${table}_planned ON ${table} (series, due_at) WHERE planned = 1`,
  `CREATE INDEX ${table}_granted ON ${table} (series, ref) WHERE granted > 0`,
]

export const migrations: readonly Migration[] = [
  {
    number: 1,
    statements: [
      'CREATE TABLE punctual_meta (name TEXT PRIMARY KEY, value REAL NOT NULL) STRICT, WITHOUT ROWID',
      // deleted_ref: the greatest ref that was ever deleted. counted_ref: up to it, `present` counts the occurrences of a series.
      // cluster_full: a claim has found the cluster's limit reached. cluster_ends: counts the ends that were news after that.
      `INSERT INTO punctual_meta VALUES ('schema', 0), ('alive_since', 0), ('last_alive_at', 0), ('deleted_ref', 0), ('counted_ref', 0),
        ('pause_revision', 0), ('cluster_full', 0), ('cluster_ends', 0)`,

      // Small numbers for long texts.
      'CREATE TABLE punctual_kind (ref INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT',
      `CREATE TABLE punctual_form (
        ref INTEGER PRIMARY KEY, kind INTEGER NOT NULL, version INTEGER NOT NULL, source TEXT NOT NULL ${oneOf('source', sources)},
        priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9), hooked INTEGER NOT NULL, publish TEXT NOT NULL DEFAULT '',
        UNIQUE (kind, version, source, priority, hooked, publish)
      ) STRICT`,
      `CREATE TABLE punctual_series (
        ref INTEGER PRIMARY KEY, tenant TEXT NOT NULL, slot INTEGER NOT NULL, job TEXT NOT NULL, present INTEGER NOT NULL DEFAULT 0,
        ${countedStates.map((state) => `${state} INTEGER NOT NULL DEFAULT 0`).join(', ')},
        missed_in_ranges INTEGER NOT NULL DEFAULT 0, skipped_in_ranges INTEGER NOT NULL DEFAULT 0,
        last_run_at REAL, failures_in_row INTEGER NOT NULL DEFAULT 0, last_version INTEGER NOT NULL DEFAULT 0, UNIQUE (tenant, job)
      ) STRICT`,
      'CREATE INDEX punctual_series_job ON punctual_series (job, tenant)',
      'CREATE INDEX punctual_series_failing ON punctual_series (job, tenant) WHERE failures_in_row > 0',
      // The sums of the counts of its series.
      `CREATE TABLE punctual_tenant (
        name TEXT PRIMARY KEY, ${tenantSums.map((sum) => `${sum} INTEGER NOT NULL DEFAULT 0`).join(', ')}
      ) STRICT, WITHOUT ROWID`,
      `CREATE TRIGGER punctual_series_insert AFTER INSERT ON punctual_series
        BEGIN INSERT OR IGNORE INTO punctual_tenant (name) VALUES (NEW.tenant); END`,
      `CREATE TRIGGER punctual_series_update AFTER UPDATE ON punctual_series BEGIN
        UPDATE punctual_tenant SET ${tenantSums.map((sum) => `${sum} = ${sum} + NEW.${sum} - OLD.${sum}`).join(', ')} WHERE name = NEW.tenant;
      END`,

      // indexed: its id is in the index. Of most others the ref lies close behind the time in the id.
      `CREATE TABLE punctual_occurrence (
        ref INTEGER PRIMARY KEY, series INTEGER NOT NULL, form INTEGER NOT NULL, scheduled_at REAL NOT NULL, created_at REAL NOT NULL,
        indexed INTEGER NOT NULL, live INTEGER NOT NULL, id TEXT NOT NULL, key TEXT, entity TEXT, parent TEXT, payload TEXT, extra TEXT
      ) STRICT`,
      'CREATE UNIQUE INDEX punctual_occurrence_id ON punctual_occurrence (id) WHERE indexed = 1',
      'CREATE INDEX punctual_occurrence_key ON punctual_occurrence (key, series, live) WHERE key IS NOT NULL',
      'CREATE INDEX punctual_occurrence_entity ON punctual_occurrence (entity, series) WHERE entity IS NOT NULL',
      'CREATE INDEX punctual_occurrence_parent ON punctual_occurrence (parent) WHERE parent IS NOT NULL',
      // For spans of refs: between when work was first due that was due in another span.
      'CREATE TABLE punctual_block (block INTEGER PRIMARY KEY, first_at REAL NOT NULL, last_at REAL NOT NULL) STRICT',

      // Work that may be claimed.
      `CREATE TABLE punctual_ready (
        kind INTEGER NOT NULL, priority INTEGER NOT NULL, due_at REAL NOT NULL, ref INTEGER NOT NULL, ${work},
        PRIMARY KEY (kind, priority, due_at, ref)
      ) STRICT, WITHOUT ROWID`,
      'CREATE UNIQUE INDEX punctual_ready_series ON punctual_ready (series, ref)',
      ...rareRows('punctual_ready'),
      // Work that lacks a limit and has not come to the door.
      `CREATE TABLE punctual_arrival (
        kind INTEGER NOT NULL, due_at REAL NOT NULL, ref INTEGER NOT NULL, ${work}, PRIMARY KEY (kind, due_at, ref)
      ) STRICT, WITHOUT ROWID`,
      'CREATE UNIQUE INDEX punctual_arrival_series ON punctual_arrival (series, ref)',
      ...rareRows('punctual_arrival'),
      // The lines of keys.
      `CREATE TABLE punctual_waiting (
        key TEXT NOT NULL, priority INTEGER NOT NULL, recovery INTEGER NOT NULL, due_at REAL NOT NULL, ref INTEGER NOT NULL,
        kind INTEGER NOT NULL, reason TEXT NOT NULL ${oneOf('reason', limitKinds)}, ${work},
        PRIMARY KEY (key, priority, recovery, due_at, ref)
      ) STRICT, WITHOUT ROWID`,
      'CREATE UNIQUE INDEX punctual_waiting_series ON punctual_waiting (series, ref)',
      'CREATE INDEX punctual_waiting_planned ON punctual_waiting (series, due_at) WHERE planned = 1',
      'CREATE INDEX punctual_waiting_granted ON punctual_waiting (series, ref) WHERE granted > 0',
      // Due work that waits for the end of a pause or for the planner. It holds no key.
      `CREATE TABLE punctual_aside (
        kind INTEGER NOT NULL, due_at REAL NOT NULL, ref INTEGER NOT NULL, reason TEXT NOT NULL ${oneOf('reason', ['pause', 'stranded'])},
        wake_at REAL, ${work}, PRIMARY KEY (series, ref)
      ) STRICT, WITHOUT ROWID`,
      'CREATE INDEX punctual_aside_wake ON punctual_aside (wake_at) WHERE wake_at IS NOT NULL',
      'CREATE INDEX punctual_aside_kind ON punctual_aside (kind, wake_at) WHERE wake_at IS NOT NULL',
      "CREATE INDEX punctual_aside_paused ON punctual_aside (series, ref) WHERE reason = 'pause'",
      "CREATE INDEX punctual_aside_stranded ON punctual_aside (series, ref) WHERE reason = 'stranded'",

      // holder: that was granted the key last, of an overlap.
      'CREATE TABLE punctual_limit_key (key TEXT PRIMARY KEY, used INTEGER NOT NULL CHECK (used > 0), holder INTEGER) STRICT, WITHOUT ROWID',
      // Slots that are or will be free, not yet counted. ref: of the start that takes part in a rate.
      `CREATE TABLE punctual_release (
        seq INTEGER PRIMARY KEY, key TEXT NOT NULL, slots INTEGER NOT NULL, free_at REAL NOT NULL, ref INTEGER
      ) STRICT`,
      'CREATE INDEX punctual_release_free ON punctual_release (free_at)',
      'CREATE INDEX punctual_release_key ON punctual_release (key, free_at)',
      'CREATE INDEX punctual_release_ref ON punctual_release (ref) WHERE ref IS NOT NULL',

      // When a first turn may no longer begin. It may be out of date: the work itself says whether it still holds.
      'CREATE TABLE punctual_expiry (expires_at REAL NOT NULL, ref INTEGER NOT NULL, PRIMARY KEY (expires_at, ref)) STRICT, WITHOUT ROWID',
      `CREATE TABLE punctual_dead (
        series INTEGER NOT NULL, ref INTEGER NOT NULL, tenant TEXT NOT NULL, cause TEXT NOT NULL, died_at REAL NOT NULL,
        PRIMARY KEY (series, ref)
      ) STRICT, WITHOUT ROWID`,
      'CREATE INDEX punctual_dead_cause ON punctual_dead (cause, ref)',
      'CREATE INDEX punctual_dead_series ON punctual_dead (series, cause, ref)',
      'CREATE INDEX punctual_dead_tenant ON punctual_dead (tenant, cause, ref, died_at)',
      'CREATE INDEX punctual_dead_ref ON punctual_dead (ref)',
      // members: JSON, see claim/claim-row.ts
      'CREATE TABLE punctual_claim (id TEXT PRIMARY KEY, token TEXT NOT NULL, node TEXT NOT NULL, members TEXT NOT NULL) STRICT, WITHOUT ROWID',

      // due_at: NULL when it is the instant that the occurrence stands for.
      `CREATE TABLE punctual_turn (
        series INTEGER NOT NULL, ref INTEGER NOT NULL, turn INTEGER NOT NULL, end TEXT NOT NULL ${oneOf('end', turnEnds)}, node TEXT,
        started_at REAL, ended_at REAL NOT NULL, due_at REAL, attempt TEXT ${oneOf('attempt', attemptStates)}, settings TEXT, tasks TEXT,
        reason TEXT, error TEXT, result TEXT, PRIMARY KEY (series, ref, turn)
      ) STRICT, WITHOUT ROWID`,
      "CREATE INDEX punctual_turn_end ON punctual_turn (series, end, ref) WHERE end <> 'completed'",
      "CREATE INDEX punctual_turn_end_ref ON punctual_turn (end, ref) WHERE end <> 'completed'",
      `CREATE INDEX punctual_turn_ended ON punctual_turn (ended_at) WHERE ${isLastEnd}`,
      `CREATE TABLE punctual_attempt (
        seq INTEGER PRIMARY KEY, ref INTEGER NOT NULL, turn INTEGER NOT NULL, task TEXT NOT NULL, n INTEGER NOT NULL,
        state TEXT NOT NULL ${oneOf('state', attemptStates)}, started_at REAL NOT NULL, ended_at REAL NOT NULL, retry_at REAL, error TEXT,
        result TEXT, UNIQUE (ref, task, n)
      ) STRICT`,
      'CREATE TABLE punctual_progress (ref INTEGER PRIMARY KEY, task TEXT NOT NULL, done REAL NOT NULL, message TEXT, at REAL NOT NULL) STRICT',
      `CREATE TABLE punctual_log (
        ref INTEGER NOT NULL, turn INTEGER NOT NULL, task TEXT NOT NULL, n INTEGER NOT NULL, text TEXT NOT NULL,
        PRIMARY KEY (ref, turn, task, n)
      ) STRICT, WITHOUT ROWID`,
      'CREATE TABLE punctual_start (ref INTEGER PRIMARY KEY, turn INTEGER NOT NULL, started_at REAL NOT NULL, deadline_at REAL NOT NULL) STRICT',
      'CREATE INDEX punctual_start_deadline ON punctual_start (deadline_at)',
      `CREATE TABLE punctual_cancel_request (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, ref INTEGER NOT NULL UNIQUE, node TEXT NOT NULL, reason TEXT
      ) STRICT`,
      // Ends whose onComplete has not run: for whom it is kept, and from when on others may run it.
      'CREATE TABLE punctual_hook_note (ref INTEGER PRIMARY KEY, kind INTEGER NOT NULL, node TEXT, free_at REAL NOT NULL) STRICT',
      'CREATE INDEX punctual_hook_note_kind ON punctual_hook_note (kind, free_at)',
      'CREATE INDEX punctual_hook_note_free ON punctual_hook_note (free_at)',

      // Live work with a live key. owner: it keeps others from the key; work that a person has revived may not.
      `CREATE TABLE punctual_live_key (
        series INTEGER NOT NULL, key TEXT NOT NULL, ref INTEGER NOT NULL, owner INTEGER NOT NULL, PRIMARY KEY (series, key, ref)
      ) STRICT, WITHOUT ROWID`,
      'CREATE TABLE punctual_tombstone (id TEXT PRIMARY KEY, until REAL NOT NULL, version REAL) STRICT, WITHOUT ROWID',
      'CREATE INDEX punctual_tombstone_until ON punctual_tombstone (until)',

      // Rows are appended; segments of committed rows are sealed, and only dropped as a whole. open: not sealed yet.
      `CREATE TABLE punctual_audit (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, act TEXT NOT NULL, target TEXT NOT NULL, actor TEXT NOT NULL,
        action TEXT NOT NULL, tenant TEXT, job TEXT, before TEXT, after TEXT, reason TEXT, event TEXT, refs TEXT, data TEXT,
        UNIQUE (act, target)
      ) STRICT`,
      'CREATE INDEX punctual_audit_job ON punctual_audit (job, seq)',
      'CREATE INDEX punctual_audit_target ON punctual_audit (target, seq)',
      'CREATE TABLE punctual_audit_open (seq INTEGER PRIMARY KEY, digest TEXT NOT NULL) STRICT',
      `CREATE TABLE punctual_audit_seal (
        segment INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL, rows TEXT NOT NULL,
        content TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, sealed_at REAL NOT NULL, newest_at REAL NOT NULL, dropped_at REAL
      ) STRICT`,
      `CREATE TRIGGER punctual_audit_update BEFORE UPDATE ON punctual_audit
        BEGIN SELECT RAISE(ABORT, 'rows of the audit are never changed'); END`,
      // INSERT OR REPLACE deletes without a trigger. An act that is repeated changes nothing.
      `CREATE TRIGGER punctual_audit_insert BEFORE INSERT ON punctual_audit
        WHEN EXISTS (SELECT 1 FROM punctual_audit WHERE seq = NEW.seq)
        BEGIN SELECT RAISE(ABORT, 'rows of the audit are never changed'); END`,
      `CREATE TRIGGER punctual_audit_repeat BEFORE INSERT ON punctual_audit
        WHEN EXISTS (SELECT 1 FROM punctual_audit WHERE act = NEW.act AND target = NEW.target)
        BEGIN SELECT RAISE(IGNORE); END`,
      `CREATE TRIGGER punctual_audit_delete BEFORE DELETE ON punctual_audit
        WHEN NOT EXISTS (SELECT 1 FROM punctual_audit_seal WHERE dropped_at IS NOT NULL AND OLD.seq BETWEEN first AND last)
        BEGIN SELECT RAISE(ABORT, 'rows of the audit go with their segment, by retention'); END`,

      // Effects that happen once. claim, ref, turn: of the turn that reserved the key.
      `CREATE TABLE punctual_gate (
        tenant TEXT NOT NULL, scope TEXT NOT NULL, key TEXT NOT NULL, state TEXT NOT NULL ${oneOf('state', gateStates)}, fingerprint TEXT,
        occurrence TEXT, tries INTEGER NOT NULL, hits INTEGER NOT NULL, reserved_at REAL NOT NULL, ended_at REAL, expires_at REAL,
        result TEXT, reason TEXT, holder TEXT NOT NULL, held_until REAL NOT NULL, claim TEXT, ref INTEGER, turn INTEGER,
        PRIMARY KEY (tenant, scope, key)
      ) STRICT, WITHOUT ROWID`,
      "CREATE INDEX punctual_gate_open ON punctual_gate (tenant, scope, key) WHERE state <> 'done'",
      'CREATE INDEX punctual_gate_expiry ON punctual_gate (expires_at) WHERE expires_at IS NOT NULL',

      `CREATE TABLE punctual_job (
        ref INTEGER PRIMARY KEY, series INTEGER NOT NULL UNIQUE, version INTEGER NOT NULL, declared TEXT, override TEXT, tz TEXT NOT NULL,
        cursor REAL NOT NULL, next_at REAL, created_at REAL NOT NULL, updated_at REAL NOT NULL
      ) STRICT`,
      'CREATE INDEX punctual_job_next ON punctual_job (next_at) WHERE next_at IS NOT NULL',
      `CREATE TABLE punctual_job_version (
        seq INTEGER PRIMARY KEY, series INTEGER NOT NULL, version INTEGER NOT NULL, spec TEXT NOT NULL, effective_at REAL NOT NULL,
        created_at REAL NOT NULL, by_whom TEXT, UNIQUE (series, version)
      ) STRICT`,
      // Instants that were passed over, many at a time.
      `CREATE TABLE punctual_range (
        seq INTEGER PRIMARY KEY, series INTEGER NOT NULL, version INTEGER NOT NULL, from_at REAL NOT NULL, to_at REAL NOT NULL,
        count INTEGER NOT NULL, state TEXT NOT NULL ${oneOf('state', ['missed', 'skipped'])}, reason TEXT NOT NULL, recorded_at REAL NOT NULL
      ) STRICT`,
      'CREATE INDEX punctual_range_series ON punctual_range (series)',
      `CREATE TABLE punctual_pause (
        id INTEGER PRIMARY KEY, tenant TEXT, job TEXT, from_at REAL NOT NULL, to_at REAL, reason TEXT, by_whom TEXT
      ) STRICT`,
      // id: set on a row that a node has added and that is not summed up yet.
      `CREATE TABLE punctual_figure (
        ref INTEGER PRIMARY KEY, id TEXT, tenant TEXT NOT NULL, job TEXT NOT NULL, at REAL NOT NULL, width REAL NOT NULL, data TEXT NOT NULL
      ) STRICT`,
      'CREATE UNIQUE INDEX punctual_figure_id ON punctual_figure (id) WHERE id IS NOT NULL',
      'CREATE INDEX punctual_figure_job ON punctual_figure (tenant, job, at)',
      'CREATE INDEX punctual_figure_at ON punctual_figure (width, at)',
      `CREATE TABLE punctual_token (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, tenants TEXT, hash TEXT NOT NULL, parent TEXT, created_at REAL NOT NULL,
        created_by TEXT, expires_at REAL
      ) STRICT, WITHOUT ROWID`,
      'CREATE INDEX punctual_token_expiry ON punctual_token (expires_at) WHERE expires_at IS NOT NULL',
      `CREATE TABLE punctual_node (
        ref INTEGER PRIMARY KEY, boot TEXT NOT NULL UNIQUE, name TEXT NOT NULL, pid INTEGER NOT NULL, concurrency INTEGER NOT NULL,
        kinds TEXT NOT NULL, version TEXT NOT NULL, tz TEXT NOT NULL, ttl_ms REAL NOT NULL, release REAL, declares TEXT NOT NULL, picks INTEGER NOT NULL,
        started_at REAL NOT NULL, beat_at REAL NOT NULL, beats INTEGER NOT NULL, running INTEGER NOT NULL, draining INTEGER NOT NULL,
        parts TEXT NOT NULL
      ) STRICT`,
    ],
  },
]
