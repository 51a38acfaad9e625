import type { PassedOccurrence } from '../store.ts'
import { bareEnd, endTurn } from './ending.ts'
import { tooLate } from './judge.ts'
import { takeOut } from './place.ts'
import { standings } from './standing.ts'
import type { Transaction } from './transaction.ts'

/** How many one call ends: the next goes on from there. */
const mostExpired = 1000

interface Expired {
  readonly expired: readonly PassedOccurrence[]
  readonly isMore: boolean
}

const selectReady = 'SELECT ref FROM punctual_ready WHERE expires_at < ? ORDER BY expires_at LIMIT ? + 0'
const selectWaiting =
  "SELECT ref FROM punctual_waiting WHERE expires_at < ? AND reason <> 'stranded' ORDER BY expires_at LIMIT ? + 0"

/** Ends what has not started in time, whether or not a node could have run it. What is stranded waits for the planner's word. */
export function expire(tx: Transaction): Expired {
  const late = [selectReady, selectWaiting]
    .flatMap((sql) => tx.all<[number]>(sql, tx.now, mostExpired))
    .map(([ref]) => ref)
    .sort((a, b) => a - b)
  const expired = late.slice(0, mostExpired).flatMap((ref) => expireOne(tx, ref))
  return { expired, isMore: late.length >= mostExpired }
}

/** Its place is read anew, since the end of one may let another go on. */
function expireOne(tx: Transaction, ref: number): PassedOccurrence[] {
  const [standing] = standings(tx, 'o.ref = ?', ref)
  if (standing?.place !== 'ready' && standing?.place !== 'waiting') return []
  const { id, tenant, job } = standing.record
  takeOut(tx, standing.place, standing)
  endTurn(tx, standing, bareEnd(tooLate.state, tx.now, { reason: tooLate.reason }), standing.state)
  return [{ id, tenant, job, ...tooLate }]
}
