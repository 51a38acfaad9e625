// The store's own connection to the file: how it is opened, and its transactions.
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { PunctualError } from '../../../errors.ts'
import type { Hint } from '../../store.ts'
import type { SqliteOptions } from '../options.ts'
import { migrate, outdated } from '../schema/migrate.ts'
import { Cache } from './cache.ts'
import { Log } from './log.ts'
import * as nodeSqlite from './node-sqlite.ts'
import { Statements } from './statements.ts'
import { Transaction } from './transaction.ts'

export interface Written<Answer> {
  readonly answer: Answer
  readonly hints: readonly Hint[]
}

/** Larger files are not read through at each start; damage shows when it is met. */
const checkedBytes = 32 * 1024 * 1024

export class Connection extends Statements {
  readonly path: string
  /** Whether other processes can open the file as well. */
  readonly isShared: boolean
  readonly #log: Log | null
  #dataVersion = -1

  constructor(path: string, { durability, exclusive, prefix, createTables }: Required<SqliteOptions>) {
    if (!createTables && !existsSync(path)) throw outdated(path, 'There is no such file.')
    if (path !== ':memory:') makeFolder(path)
    super(new nodeSqlite.DatabaseSync(path), prefix)
    this.path = path
    try {
      // Waiting inside SQLite would block the event loop: the store waits on timers instead.
      this.db.exec('PRAGMA busy_timeout = 0')
      this.isShared = path !== ':memory:' && !exclusive && nodeSqlite.sqliteVersion().isShareable
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
      migrate(this, createTables)
    } catch (error) {
      this.db.close()
      throw error
    }
  }

  /** Runs `act` in one commit, or changes nothing. The write lock is taken first, so nothing read is out of date. */
  write<Answer>(act: (tx: Transaction) => Answer, now = 0): Written<Answer> {
    this.run('BEGIN IMMEDIATE')
    try {
      this.#checkKnown()
      const tx = new Transaction(this, now)
      const answer = act(tx)
      tx.flush()
      this.run('COMMIT')
      tx.committed()
      this.#log?.committed()
      return { answer, hints: tx.hints }
    } catch (error) {
      this.cache = new Cache()
      this.#undo()
      throw error
    }
  }

  /** Runs `act` on one state of the file. */
  read<Answer>(act: (tx: Transaction) => Answer, now: number): Answer {
    this.run('BEGIN')
    try {
      this.#checkKnown()
      return act(new Transaction(this, now))
    } finally {
      this.#undo()
    }
  }

  async close(): Promise<void> {
    await this.#log?.close()
    if (this.db.isOpen) this.db.close()
  }

  /** Forgets what another connection may have changed. */
  #checkKnown(): void {
    const { data_version: version } = this.one<{ data_version: number }>('PRAGMA data_version') as { data_version: number }
    if (version === this.#dataVersion) return
    this.#dataVersion = version
    this.cache = new Cache()
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

function checkWhole(connection: Connection): void {
  const { path } = connection
  if (path === ':memory:' || statSync(path).size > checkedBytes) return
  const fault = connection.one<{ quick_check: string }>('PRAGMA quick_check(1)')?.quick_check
  if (fault !== 'ok')
    throw new PunctualError('store.corrupt', `${path} is damaged: ${String(fault)}. Restore it from a backup`, { path, fault })
}
