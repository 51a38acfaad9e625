import type { CheckpointItem, WriteAnswer } from '../store.ts'
import { appendAudit } from './audit.ts'
import { cancel } from './cancel.ts'
import { isOurs, runWithin } from './checkpoint/within.ts'
import { Fence } from './claim/fence.ts'
import type { Transaction } from './connection/transaction.ts'
import { create } from './create.ts'
import { addAttempts, cancelOf, putLogs } from './occurrence/ends.ts'

export interface CheckpointResult {
  readonly answers: readonly WriteAnswer[]
  /** Errors that the work of items threw: those items are undone, the others are kept. */
  readonly thrown: readonly unknown[]
}

export function checkpoint(tx: Transaction, items: readonly CheckpointItem[]): CheckpointResult {
  const fence = new Fence(tx)
  const thrown: unknown[] = []
  const answers = items.map((item): WriteAnswer => {
    if (!fence.owned(item)) return 'lost'
    if (!item.within) return write(tx, item)
    const before = recordedResult(tx, item)
    if (before) {
      item.recorded?.(before.result)
      return 'ok'
    }
    if (cancelOf(tx, item.member.ref)) return 'refused'
    const { db } = tx.connection
    try {
      const written = write(tx, withResult(item, runWithin(db, item.within)))
      applyChanges(tx, item)
      return written
    } catch (error) {
      if (!isOurs(db)) throw error
      thrown.push(error)
      return 'ok'
    }
  })
  return { answers, thrown }
}

/** The result of the attempt that the work belongs to, if that has been committed before, and with it the work. */
function recordedResult(tx: Transaction, { member, attempts }: CheckpointItem): { result: string | null } | undefined {
  const last = attempts.at(-1)
  return last && tx.one('SELECT result FROM punctual_attempt WHERE ref = ? AND task = ? AND n = ?', member.ref, last.task, last.n)
}

function withResult(item: CheckpointItem, result: string | null): CheckpointItem {
  return {
    ...item,
    attempts: item.attempts.map((attempt, index) => (index === item.attempts.length - 1 ? { ...attempt, result } : attempt)),
  }
}

/** After the work: what was changed here could not be taken back from the connection's cache. */
function applyChanges(tx: Transaction, { changes }: CheckpointItem): void {
  const { creates = [], cancels = [] } = changes?.() ?? {}
  if (creates.length > 0) create(tx, creates)
  for (const request of cancels) cancel(tx, request)
}

function write(tx: Transaction, { member: { ref, turn }, attempts, progress, logs, start, events }: CheckpointItem): WriteAnswer {
  addAttempts(tx, ref, attempts)
  if (progress) {
    const { task, done, message, at } = progress
    const insert = 'INSERT OR REPLACE INTO punctual_progress (ref, task, done, message, at) VALUES (?, ?, ?, ?, ?)'
    tx.run(insert, ref, task, done, message, at)
  }
  putLogs(tx, ref, logs)
  appendAudit(tx, ...(events ?? []))
  if (start) noteStart(tx, { ref, turn, ...start })
  return 'ok'
}

export function noteStart(
  tx: Transaction,
  { ref, turn, startedAt, deadlineAt }: { ref: number; turn: number; startedAt: number; deadlineAt: number },
): void {
  tx.noteRow('punctual_start')
  const insert = 'INSERT OR REPLACE INTO punctual_start (ref, turn, started_at, deadline_at) VALUES (?, ?, ?, ?)'
  tx.run(insert, ref, turn, startedAt, deadlineAt)
}
