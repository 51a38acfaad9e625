import { bareEnd } from '../../model/turn.ts'
import type { PassedOccurrence } from '../store.ts'
import { endTurn } from './ending.ts'
import { tooLate } from './judge.ts'
import { takeOut } from './place.ts'
import { type Standing, standings } from './standing.ts'
import type { Transaction } from './transaction.ts'

/** How many expiries one call looks at: the next goes on from there. */
const mostExpired = 1000

interface Expired {
  readonly expired: readonly PassedOccurrence[]
  readonly isMore: boolean
}

/** Ends what has not started in time, whether or not a node could have run it. */
export function expire(tx: Transaction): Expired {
  const rows = tx.all<[number, number]>(
    'SELECT expires_at, ref FROM punctual_expiry WHERE expires_at < ? ORDER BY expires_at, ref LIMIT ? + 0',
    tx.now,
    mostExpired,
  )
  for (const [expiresAt, ref] of rows) tx.run('DELETE FROM punctual_expiry WHERE expires_at = ? AND ref = ?', expiresAt, ref)
  const refs = [...new Set(rows.map(([, ref]) => ref))].sort((a, b) => a - b)
  return { expired: refs.flatMap((ref) => expireOne(tx, ref)), isMore: rows.length === mostExpired }
}

function expireOne(tx: Transaction, ref: number): PassedOccurrence[] {
  const [standing] = standings(tx, 'o.ref = ?', ref)
  if (!standing || (standing.place !== 'ready' && standing.place !== 'waiting') || !isLate(standing, tx.now)) return []
  const { id, tenant, job } = standing.record
  takeOut(tx, standing.place, standing)
  endTurn(tx, standing, bareEnd(tooLate.state, tx.now, { reason: tooLate.reason }), standing.state)
  return [{ id, tenant, job, ...tooLate }]
}

/** It may have begun, or been put off, since its expiry was noted. What is stranded waits for the planner's word. */
function isLate({ turn, dueAt, startWithinMs, wait }: Standing, now: number): boolean {
  return turn === 1 && startWithinMs !== null && wait?.reason !== 'stranded' && now > dueAt + startWithinMs
}
