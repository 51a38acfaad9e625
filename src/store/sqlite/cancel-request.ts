// A cancel that was asked for while a turn runs: the node is told with its next beat, and no further turn follows.
import type { Transaction } from './transaction.ts'

interface Turn {
  readonly ref: number
  readonly turn: number
}

export function requestCancel(tx: Transaction, { ref, turn }: Turn, reason: string | null): void {
  tx.run(
    'INSERT INTO punctual_cancel_request (ref, turn, reason) VALUES (?, ?, ?) ON CONFLICT (ref) DO NOTHING',
    ref,
    turn,
    reason,
  )
}

export function cancelRequest(tx: Transaction, { ref, turn }: Turn): [reason: string | null] | undefined {
  if (!tx.has('punctual_cancel_request')) return undefined
  return tx.one('SELECT reason FROM punctual_cancel_request WHERE ref = ? AND turn = ?', ref, turn)
}
