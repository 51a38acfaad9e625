import type { DatabaseSync } from 'node:sqlite'
import { PunctualError } from '../../errors.ts'
import type { CheckpointItem, WriteAnswer } from '../store.ts'
import { isUnended, type KnownClaims } from './claims.ts'
import { addAttempts } from './ending.ts'
import { Fence } from './fence.ts'
import { constants } from './node-sqlite.ts'
import type { Transaction } from './transaction.ts'

export interface Checkpointed {
  readonly answers: readonly WriteAnswer[]
  /** What the work of an item threw: that item is undone, the others stand. */
  readonly thrown: readonly unknown[]
}

export function checkpoint(tx: Transaction, known: KnownClaims, items: readonly CheckpointItem[]): Checkpointed {
  const fence = new Fence(tx, known)
  const thrown: unknown[] = []
  const answers = items.map((item): WriteAnswer => {
    const member = fence.member(item)
    if (!member || !isUnended(tx, member)) return 'lost'
    if (item.within) {
      const before = recordedResult(tx, item)
      if (before) {
        item.recorded?.(before[0])
        return 'ok'
      }
      try {
        return note(tx, withResult(item, runWithin(tx.connection.db, item.within)))
      } catch (error) {
        if (!isOurs(tx.connection.db)) throw error
        thrown.push(error)
        return 'ok'
      }
    }
    return note(tx, item)
  })
  return { answers, thrown }
}

/** The result of the attempt that the work belongs to, if that has been committed before, and with it the work. */
function recordedResult(tx: Transaction, { ref, attempts }: CheckpointItem): [string | null] | undefined {
  const last = attempts.at(-1)
  return (
    last &&
    tx.one<[string | null]>('SELECT result FROM punctual_attempt WHERE ref = ? AND task = ? AND n = ?', ref, last.task, last.n)
  )
}

function withResult(item: CheckpointItem, result: string | null): CheckpointItem {
  return {
    ...item,
    attempts: item.attempts.map((attempt, index) => (index === item.attempts.length - 1 ? { ...attempt, result } : attempt)),
  }
}

function note(tx: Transaction, { ref, turn, attempts, progress, start }: CheckpointItem): WriteAnswer {
  addAttempts(tx, ref, attempts)
  if (progress) {
    const { task, done, message, at } = progress
    tx.run(
      'INSERT OR REPLACE INTO punctual_progress (ref, task, done, message, at) VALUES (?, ?, ?, ?, ?)',
      ref,
      task,
      done,
      message,
      at,
    )
  }
  if (start) noteStart(tx, { ref, turn, ...start })
  return 'ok'
}

export function noteStart(
  tx: Transaction,
  { ref, turn, startedAt, deadlineAt }: { ref: number; turn: number; startedAt: number; deadlineAt: number },
): void {
  tx.run(
    'INSERT OR REPLACE INTO punctual_start (ref, turn, started_at, deadline_at) VALUES (?, ?, ?, ?)',
    ref,
    turn,
    startedAt,
    deadlineAt,
  )
}

const savepoint = 'punctual_work'

/** Runs a handler's work inside the open transaction, which stays ours to end. */
function runWithin(db: DatabaseSync, work: NonNullable<CheckpointItem['within']>): string | null {
  db.exec(`SAVEPOINT ${savepoint}`)
  try {
    const result = guarded(db, work)
    if (isPromise(result)) {
      // It is refused in any case, also when it rejects.
      result.catch(() => {})
      throw invalid('must be synchronous on SQLite: it returned a promise, whose later writes would be outside of the commit')
    }
    if (!isOurs(db)) throw invalid('ended the transaction that it was given; Punctual commits it')
    release(db)
    return result
  } catch (error) {
    if (isOurs(db)) db.exec(`ROLLBACK TO ${savepoint}; RELEASE ${savepoint}`)
    throw error
  }
}

/** Refuses to begin, commit or roll back while the work runs, where this version of Node lets us. */
function guarded(db: DatabaseSync, work: NonNullable<CheckpointItem['within']>): ReturnType<typeof work> {
  const { SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_DENY, SQLITE_OK } = constants
  db.setAuthorizer?.((action, _operation, name) =>
    action === SQLITE_TRANSACTION || (action === SQLITE_SAVEPOINT && name === savepoint) ? SQLITE_DENY : SQLITE_OK,
  )
  try {
    return work(db)
  } catch (error) {
    throw (error as { errcode?: number }).errcode === notAuthorized
      ? invalid('may not begin, commit or roll back: Punctual commits it with the success of the task', error)
      : error
  } finally {
    if (db.isOpen) db.setAuthorizer?.(null)
  }
}

const notAuthorized = 23

function release(db: DatabaseSync): void {
  try {
    db.exec(`RELEASE ${savepoint}`)
  } catch (cause) {
    db.exec('ROLLBACK')
    throw invalid('ended the transaction that it was given and began another; Punctual commits it', cause)
  }
}

/** Whether the transaction is still there to be committed by us. */
function isOurs(db: DatabaseSync): boolean {
  return db.isOpen && db.isTransaction
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown } | null)?.then === 'function'
}

function invalid(message: string, cause?: unknown): PunctualError {
  return new PunctualError('transaction.invalid', `The work of a transaction ${message}`, {}, { cause })
}
