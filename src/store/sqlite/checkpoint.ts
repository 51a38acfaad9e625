import type { CheckpointItem, ClaimRef, WriteAnswer } from '../store.ts'
import { isOurs, runWithin } from './checkpoint/within.ts'
import { isUnended } from './claim/claim-row.ts'
import { entryOfMember } from './claim/members.ts'
import type { Transaction } from './connection/transaction.ts'
import { addAttempts } from './occurrence/ends.ts'

export interface CheckpointResult {
  readonly answers: readonly WriteAnswer[]
  /** Errors that the work of items threw: those items are undone, the others stand. */
  readonly thrown: readonly unknown[]
}

export function checkpoint(tx: Transaction, items: readonly CheckpointItem[]): CheckpointResult {
  const fence = new Fence(tx)
  const thrown: unknown[] = []
  const answers = items.map((item): WriteAnswer => {
    const entry = fence.nodeOf(item.claim) === null ? null : entryOfMember(item)
    if (!entry || !isUnended(tx, entry)) return 'lost'
    if (!item.within) return write(tx, item)
    const before = recordedResult(tx, item)
    if (before) {
      item.recorded?.(before.result)
      return 'ok'
    }
    const { db } = tx.connection
    try {
      return write(tx, withResult(item, runWithin(db, item.within)))
    } catch (error) {
      if (!isOurs(db)) throw error
      thrown.push(error)
      return 'ok'
    }
  })
  return { answers, thrown }
}

/** Which claims stand, read once for each claim and call. */
export class Fence {
  readonly #tx: Transaction
  readonly #nodes = new Map<string, { readonly token: string; readonly node: string } | null>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /** The node of a claim that stands, if the token is right. */
  nodeOf({ id, token }: ClaimRef): string | null {
    let claim = this.#nodes.get(id)
    if (claim === undefined) {
      claim = this.#tx.one<{ token: string; node: string }>('SELECT token, node FROM punctual_claim WHERE id = ?', id) ?? null
      this.#nodes.set(id, claim)
    }
    return claim?.token === token ? claim.node : null
  }
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

function write(tx: Transaction, { member: { ref, turn }, attempts, progress, start }: CheckpointItem): WriteAnswer {
  addAttempts(tx, ref, attempts)
  if (progress) {
    const { task, done, message, at } = progress
    const insert = 'INSERT OR REPLACE INTO punctual_progress (ref, task, done, message, at) VALUES (?, ?, ?, ?, ?)'
    tx.run(insert, ref, task, done, message, at)
  }
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
