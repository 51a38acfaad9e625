// The tables, as a list of numbered migrations. Where a row stands is its state: ready, waiting, dead, in a claim, or ended.
// All names carry a prefix, since handlers may keep tables of their own in the same file.
// Instants are REAL: callers may hand in fractions of a millisecond, and whole ones are stored as integers anyway.
import { PunctualError } from '../../errors.ts'
import { attemptStates, occurrenceStates, sources, turnEnds } from '../../model/lifecycle.ts'
import { uniqueKinds, type WaitRecord } from '../../model/occurrence.ts'
import type { Connection } from './connection.ts'

/** One step of the schema. Steps are only ever added, never changed. */
export interface Migration {
  readonly number: number
  readonly statements: readonly string[]
}

// SQLite builds a table for each IN list each time a row is checked, which costs more than the row; comparisons do not.
const oneOf = (column: string, values: readonly string[]) =>
  `CHECK (${values.map((value) => `${column} = '${value}'`).join(' OR ')})`

const waitReasons = ['stranded', 'pause', 'overlap', 'concurrency', 'rate', 'catch-up'] satisfies WaitRecord['reason'][]

export const migrations: readonly Migration[] = [
  {
    number: 1,
    statements: [
      'CREATE TABLE punctual_meta (name TEXT PRIMARY KEY, value REAL NOT NULL) STRICT, WITHOUT ROWID',
      "INSERT INTO punctual_meta VALUES ('schema', 0), ('alive_since', 0), ('last_ref', 0), ('pause_revision', 0), ('lanes', 0)",

      // Definitions and (tenant, job) pairs as small numbers; a pair also keeps how many of its occurrences stand where.
      // laned: some node picks among its rows, so that they are kept by lanes too.
      'CREATE TABLE punctual_kind (ref INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, laned INTEGER NOT NULL DEFAULT 0) STRICT',
      'CREATE INDEX punctual_kind_laned ON punctual_kind (ref) WHERE laned = 1',
      `CREATE TABLE punctual_series (
        ref INTEGER PRIMARY KEY, tenant TEXT NOT NULL, slot INTEGER NOT NULL, job TEXT NOT NULL,
        ${occurrenceStates.map((state) => `${state} INTEGER NOT NULL DEFAULT 0`).join(', ')},
        missed_in_ranges INTEGER NOT NULL DEFAULT 0, skipped_in_ranges INTEGER NOT NULL DEFAULT 0,
        last_run_at REAL, failures_in_row INTEGER NOT NULL DEFAULT 0, UNIQUE (tenant, job)
      ) STRICT`,
      'CREATE INDEX punctual_series_job ON punctual_series (job, tenant)',

      `CREATE TABLE punctual_occurrence (
        ref INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, series INTEGER NOT NULL, kind INTEGER NOT NULL, version INTEGER NOT NULL,
        source TEXT NOT NULL ${oneOf('source', sources)}, key TEXT, uniqueness TEXT NOT NULL ${oneOf('uniqueness', uniqueKinds)},
        entity TEXT, refs TEXT, settings TEXT, priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
        holds TEXT, span TEXT, replay TEXT, start_within_ms REAL,
        scheduled_at REAL NOT NULL, created_at REAL NOT NULL, payload TEXT
      ) STRICT`,
      'CREATE INDEX punctual_occurrence_series ON punctual_occurrence (series)',
      'CREATE INDEX punctual_occurrence_key ON punctual_occurrence (series, key) WHERE key IS NOT NULL',
      'CREATE INDEX punctual_occurrence_entity ON punctual_occurrence (series, entity) WHERE entity IS NOT NULL',

      // For each block of neighbours: between when they were first due, and a time before which none of them has ended.
      'CREATE TABLE punctual_block (block INTEGER PRIMARY KEY, first_at REAL NOT NULL, last_at REAL NOT NULL, first_end_at REAL) STRICT',

      // planned: the first turn of a scheduled instant. retrying: whether this wait is one between tries.
      `CREATE TABLE punctual_ready (
        kind INTEGER NOT NULL, priority INTEGER NOT NULL, due_at REAL NOT NULL, ref INTEGER NOT NULL, turn INTEGER NOT NULL,
        series INTEGER NOT NULL, planned INTEGER NOT NULL, retrying INTEGER NOT NULL, PRIMARY KEY (kind, priority, due_at, ref)
      ) STRICT, WITHOUT ROWID`,
      'CREATE UNIQUE INDEX punctual_ready_series ON punctual_ready (series, ref)',
      'CREATE INDEX punctual_ready_retrying ON punctual_ready (series, ref) WHERE retrying = 1',
      'CREATE INDEX punctual_ready_planned ON punctual_ready (series, due_at) WHERE planned = 1',
      // What few rows need stands beside ready, since each index of a table costs every row: the rows of laned kinds by job, and after
      // when a first turn may no longer begin. An expiry may be out of date: the row itself says whether it still holds.
      `CREATE TABLE punctual_lane (
        kind INTEGER NOT NULL, priority INTEGER NOT NULL, series INTEGER NOT NULL, due_at REAL NOT NULL, ref INTEGER NOT NULL,
        PRIMARY KEY (kind, priority, series, due_at, ref)
      ) STRICT, WITHOUT ROWID`,
      'CREATE TABLE punctual_expiry (expires_at REAL NOT NULL, ref INTEGER NOT NULL, PRIMARY KEY (expires_at, ref)) STRICT, WITHOUT ROWID',

      // A row of ready that may not run: why, for which key, and when it is looked at again by itself. Kept in the order of coming.
      `CREATE TABLE punctual_waiting (
        seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, priority INTEGER NOT NULL, due_at REAL NOT NULL, ref INTEGER NOT NULL,
        turn INTEGER NOT NULL, series INTEGER NOT NULL, planned INTEGER NOT NULL, retrying INTEGER NOT NULL,
        reason TEXT NOT NULL ${oneOf('reason', waitReasons)}, key TEXT, wake_at REAL, UNIQUE (series, ref)
      ) STRICT`,
      'CREATE INDEX punctual_waiting_first ON punctual_waiting (key) WHERE key IS NOT NULL',
      'CREATE INDEX punctual_waiting_oldest ON punctual_waiting (key, due_at, ref) WHERE key IS NOT NULL',
      'CREATE INDEX punctual_waiting_wake ON punctual_waiting (wake_at) WHERE wake_at IS NOT NULL',
      'CREATE INDEX punctual_waiting_kind ON punctual_waiting (kind, wake_at) WHERE wake_at IS NOT NULL',
      "CREATE INDEX punctual_waiting_stranded ON punctual_waiting (series) WHERE reason = 'stranded'",
      "CREATE INDEX punctual_waiting_paused ON punctual_waiting (series) WHERE reason = 'pause'",

      // Who holds which key, the earlier first; and when occurrences with a limited rate were started.
      'CREATE TABLE punctual_hold (seq INTEGER PRIMARY KEY, key TEXT NOT NULL, ref INTEGER NOT NULL, UNIQUE (ref, key)) STRICT',
      'CREATE INDEX punctual_hold_key ON punctual_hold (key)',
      'CREATE TABLE punctual_rate_start (seq INTEGER PRIMARY KEY, key TEXT NOT NULL, at REAL NOT NULL, until REAL NOT NULL) STRICT',
      'CREATE INDEX punctual_rate_start_key ON punctual_rate_start (key)',
      'CREATE INDEX punctual_rate_start_until ON punctual_rate_start (until)',

      'CREATE TABLE punctual_dead (series INTEGER NOT NULL, ref INTEGER NOT NULL, PRIMARY KEY (series, ref)) STRICT, WITHOUT ROWID',

      // members: [[ref, turn, due_at when it is not the first due], …] as JSON
      'CREATE TABLE punctual_claim (ref INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, token TEXT NOT NULL, node TEXT NOT NULL, members TEXT NOT NULL) STRICT',

      `CREATE TABLE punctual_turn (
        series INTEGER NOT NULL, ref INTEGER NOT NULL, turn INTEGER NOT NULL, end TEXT NOT NULL ${oneOf('end', turnEnds)}, node TEXT,
        started_at REAL, ended_at REAL NOT NULL, due_at REAL, attempt TEXT ${oneOf('attempt', attemptStates)}, settings TEXT, tasks TEXT,
        reason TEXT, error TEXT, result TEXT, PRIMARY KEY (series, ref, turn)
      ) STRICT, WITHOUT ROWID`,
      "CREATE INDEX punctual_turn_end ON punctual_turn (series, end, ref) WHERE end <> 'completed'",
      `CREATE TABLE punctual_attempt (
        seq INTEGER PRIMARY KEY, ref INTEGER NOT NULL, turn INTEGER NOT NULL, task TEXT NOT NULL, n INTEGER NOT NULL,
        state TEXT NOT NULL ${oneOf('state', attemptStates)}, started_at REAL NOT NULL, ended_at REAL NOT NULL, retry_at REAL, error TEXT,
        result TEXT, UNIQUE (ref, task, n)
      ) STRICT`,
      'CREATE TABLE punctual_progress (ref INTEGER PRIMARY KEY, task TEXT NOT NULL, done REAL NOT NULL, message TEXT, at REAL NOT NULL) STRICT',
      'CREATE TABLE punctual_start (ref INTEGER PRIMARY KEY, turn INTEGER NOT NULL, started_at REAL NOT NULL, deadline_at REAL NOT NULL) STRICT',
      'CREATE TABLE punctual_cancel_request (seq INTEGER PRIMARY KEY AUTOINCREMENT, ref INTEGER NOT NULL UNIQUE, turn INTEGER NOT NULL, reason TEXT) STRICT',
      'CREATE TABLE punctual_live_key (series INTEGER NOT NULL, key TEXT NOT NULL, ref INTEGER NOT NULL, PRIMARY KEY (series, key)) STRICT, WITHOUT ROWID',
      'CREATE TABLE punctual_tombstone (id TEXT PRIMARY KEY, until REAL NOT NULL) STRICT, WITHOUT ROWID',
      'CREATE INDEX punctual_tombstone_until ON punctual_tombstone (until)',

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
      `CREATE TABLE punctual_node (
        ref INTEGER PRIMARY KEY, boot TEXT NOT NULL UNIQUE, name TEXT NOT NULL, pid INTEGER NOT NULL, concurrency INTEGER NOT NULL,
        kinds TEXT NOT NULL, version TEXT NOT NULL, tz TEXT NOT NULL, ttl_ms REAL NOT NULL, release REAL, declares TEXT NOT NULL, picks INTEGER NOT NULL,
        started_at REAL NOT NULL, beat_at REAL NOT NULL, beats INTEGER NOT NULL, running INTEGER NOT NULL
      ) STRICT`,
    ],
  },
]

/** Brings the file to the newest schema. The lock is taken before the version is read, so that two processes never both migrate. */
export function migrate(connection: Connection): void {
  const newest = migrations.length
  const stored = schemaNumber(connection)
  if (stored > newest) {
    throw new PunctualError(
      'store.newer',
      `${connection.path} has schema ${stored} of a newer release; this one knows up to ${newest}. Upgrade Punctual in this process`,
      {
        path: connection.path,
        schema: stored,
        newest,
      },
    )
  }
  if (stored === newest) return
  connection.write(() => {
    for (const { number, statements } of migrations.slice(schemaNumber(connection))) {
      for (const statement of statements) connection.db.exec(statement)
      connection.db.exec(`UPDATE punctual_meta SET value = ${number} WHERE name = 'schema'`)
    }
  })
}

function schemaNumber(connection: Connection): number {
  const known = connection.one("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'punctual_meta'")
  return known ? Number(connection.one("SELECT value FROM punctual_meta WHERE name = 'schema'")?.[0]) : 0
}
