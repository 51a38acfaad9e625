// One connection to the file: how it is opened, its prepared statements, and its transactions.
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { PunctualError } from '../../errors.ts'
import type { Hint } from '../store.ts'
import { Dictionary } from './dictionary.ts'
import * as nodeSqlite from './node-sqlite.ts'
import type { SqliteOptions } from './options.ts'
import type { Pauses } from './pauses.ts'
import { migrate } from './schema.ts'
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
  readonly dictionary = new Dictionary(this)
  /** By block, the earliest end that this connection has noted in the file. */
  readonly firstEnds = new Map<number, number>()
  /** What was last read of the pauses. */
  pauses: Pauses | null = null
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
      const mode = this.one('PRAGMA journal_mode = WAL')?.[0]
      if (mode !== 'wal' && path !== ':memory:')
        throw new PunctualError(
          'store.unsupported',
          `${path} lies on a file system without shared memory for SQLite; use a local disk`,
          { path },
        )
      this.db.exec(
        `PRAGMA synchronous = ${durability}; PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY;
          PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864`,
      )
      checkWhole(this)
      migrate(this)
    } catch (error) {
      this.db.close()
      throw error
    }
  }

  /**
   * The prepared statement of this text; its rows are arrays. A bare parameter after LIMIT, or anywhere else where the planner looks at
   * its value, would have SQLite compile the statement anew at each run: hence `LIMIT ? + 0`.
   */
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.db.prepare(sql)
      statement.setReturnArrays(true)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  all<Row extends unknown[]>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.statement(sql).all(...values) as unknown as Row[]
  }

  one<Row extends unknown[]>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.statement(sql).get(...values) as unknown as Row | undefined
  }

  /** How many rows the statement changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return this.statement(sql).run(...values).changes as number
  }

  /** Runs `act` in one commit, or changes nothing. The write lock is taken first, so that nothing read can be out of date. */
  write<Answer>(act: (tx: Transaction) => Answer, now = 0): Written<Answer> {
    this.run('BEGIN IMMEDIATE')
    try {
      const tx = new Transaction(this, now)
      const answer = act(tx)
      tx.flush()
      this.run('COMMIT')
      tx.blocks.committed()
      this.dictionary.keepNew()
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

  close(): void {
    if (this.db.isOpen) this.db.close()
  }

  #undo(): void {
    this.dictionary.forgetNew()
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
  const version = String(connection.one('SELECT sqlite_version()')?.[0]).split('.').map(Number)
  const at = sharedSince.findIndex((part, index) => part !== version[index])
  return at === -1 || (version[at] ?? 0) > (sharedSince[at] as number)
}

function checkWhole(connection: Connection): void {
  const { path } = connection
  if (path === ':memory:' || statSync(path).size > checkedBytes) return
  const fault = connection.one('PRAGMA quick_check(1)')?.[0]
  if (fault !== 'ok')
    throw new PunctualError('store.corrupt', `${path} is damaged: ${String(fault)}. Restore it from a backup`, { path, fault })
}
