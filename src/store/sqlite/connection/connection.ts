// One connection to the file: how it is opened, its prepared statements, and its transactions.
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { PunctualError } from '../../../errors.ts'
import type { JobSpec } from '../../../model/job.ts'
import type { PauseRecord } from '../../../model/pause.ts'
import type { Hint } from '../../store.ts'
import type { SqliteOptions } from '../options.ts'
import type { Span } from '../schema/blocks.ts'
import { migrate } from '../schema/migrate.ts'
import { Names } from '../schema/names.ts'
import { Log } from './log.ts'
import * as nodeSqlite from './node-sqlite.ts'
import { Transaction } from './transaction.ts'

export interface Written<Answer> {
  readonly answer: Answer
  readonly hints: readonly Hint[]
}

/** Before this release two processes that reset the write-ahead log at the same moment could damage the file. */
const sharedSince = [3, 51, 3]
/** Larger files are not read through at each start; damage shows when it is met. */
const checkedBytes = 32 * 1024 * 1024

export class Connection {
  readonly path: string
  readonly db: DatabaseSync
  /** Whether other processes can open the file as well. */
  readonly isShared: boolean
  readonly names = new Names(this)
  readonly #log: Log | null
  /** By block, what this connection has noted of it. */
  readonly blocks = new Map<number, Span>()
  /** Specs by series and version: versions never change. */
  readonly specs = new Map<string, JobSpec>()
  /** The pauses as of a revision. */
  pauses: { readonly revision: number; readonly all: readonly PauseRecord[] } | null = null
  /** The kinds that the nodes of these texts serve. */
  served: { readonly text: string; readonly kinds: ReadonlySet<string> } | null = null
  readonly #statements = new Map<string, StatementSync>()

  constructor(path: string, { durability, exclusive }: Required<SqliteOptions>) {
    this.path = path
    if (path !== ':memory:') makeFolder(path)
    this.db = new nodeSqlite.DatabaseSync(path)
    try {
      // Waiting inside SQLite would block the event loop: the store waits on timers instead.
      this.db.exec('PRAGMA busy_timeout = 0')
      this.isShared = path !== ':memory:' && !exclusive && isShareable(this)
      if (!this.isShared) this.db.exec('PRAGMA locking_mode = EXCLUSIVE')
      const mode = this.one<{ journal_mode: string }>('PRAGMA journal_mode = WAL')?.journal_mode
      if (mode !== 'wal' && path !== ':memory:')
        throw new PunctualError(
          'store.unsupported',
          `${path} lies on a file system without shared memory for SQLite; use a local disk`,
          { path },
        )
      this.db.exec(
        `PRAGMA synchronous = ${durability}; PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY;
          PRAGMA wal_autocheckpoint = ${this.isShared ? 0 : 4000}; PRAGMA journal_size_limit = 67108864`,
      )
      // No thread can open a file that this connection keeps to itself.
      this.#log = this.isShared ? new Log(this) : null
      checkWhole(this)
      migrate(this)
    } catch (error) {
      this.db.close()
      throw error
    }
  }

  /**
   * The prepared statement of this text. A bare parameter after LIMIT, or anywhere else where the planner looks at its value, would
   * have SQLite compile the statement anew at each run: hence `LIMIT ? + 0`.
   */
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  all<Row extends object>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.statement(sql).all(...values) as unknown as Row[]
  }

  one<Row extends object>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.statement(sql).get(...values) as unknown as Row | undefined
  }

  /** How many rows the statement changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return this.statement(sql).run(...values).changes as number
  }

  /** Runs `act` in one commit, or changes nothing. The write lock is taken first, so nothing read is out of date. */
  write<Answer>(act: (tx: Transaction) => Answer, now = 0): Written<Answer> {
    this.run('BEGIN IMMEDIATE')
    try {
      const tx = new Transaction(this, now)
      const answer = act(tx)
      tx.flush()
      this.run('COMMIT')
      tx.committed()
      this.#log?.committed()
      return { answer, hints: tx.hints }
    } catch (error) {
      this.#undo()
      throw error
    }
  }

  /** Runs `act` on one state of the file. */
  read<Answer>(act: (tx: Transaction) => Answer, now: number): Answer {
    this.run('BEGIN')
    try {
      return act(new Transaction(this, now))
    } finally {
      this.#undo()
    }
  }

  async close(): Promise<void> {
    await this.#log?.close()
    if (this.db.isOpen) this.db.close()
  }

  #undo(): void {
    this.names.forgetNew()
    // SQLite has rolled back by itself after some errors, and a handler may have closed the database.
    if (this.db.isOpen && this.db.isTransaction) this.run('ROLLBACK')
  }
}

function makeFolder(path: string): void {
  const folder = dirname(path)
  try {
    mkdirSync(folder, { recursive: true })
  } catch (cause) {
    throw new PunctualError(
      'store.unreachable',
      `The folder of ${path} cannot be made: ${(cause as Error).message}`,
      { path },
      { cause },
    )
  }
}

function isShareable(connection: Connection): boolean {
  const { text } = connection.one<{ text: string }>('SELECT sqlite_version() AS text') as { text: string }
  const version = text.split('.').map(Number)
  const at = sharedSince.findIndex((part, index) => part !== version[index])
  return at === -1 || (version[at] ?? 0) > (sharedSince[at] as number)
}

function checkWhole(connection: Connection): void {
  const { path } = connection
  if (path === ':memory:' || statSync(path).size > checkedBytes) return
  const fault = connection.one<{ quick_check: string }>('PRAGMA quick_check(1)')?.quick_check
  if (fault !== 'ok')
    throw new PunctualError('store.corrupt', `${path} is damaged: ${String(fault)}. Restore it from a backup`, { path, fault })
}
