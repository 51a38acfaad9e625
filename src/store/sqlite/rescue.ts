import { isNodeGone } from '../rules/node.ts'
import { recoverMember } from '../rules/recover.ts'
import { type NodeRow, nodeRecord } from '../rules/sql/nodes.ts'
import { isExpired, notInTime } from '../rules/verdict.ts'
import type { PassedOccurrence, RescueAnswer, RescueRequest } from '../store.ts'
import { claimsOf, deleteClaim, unended } from './claim/claim-row.ts'
import type { Transaction } from './connection/transaction.ts'
import { JobSpecs } from './names/job-specs.ts'
import { removeNode } from './nodes.ts'
import { cancelOf, endTurn, endUnattended, nextTurn, noteHook, startOf } from './occurrence/ends.ts'
import { type Entry, readEntry, turnsOf } from './occurrence/entry.ts'

type Rescued = RescueAnswer['rescued'][number]

export function rescue(tx: Transaction, request: RescueRequest): RescueAnswer {
  const rescued: Rescued[] = []
  const removed: string[] = []
  let left = request.limit
  let more = false
  for (const { boot, beats } of request.gone) {
    const node = tx.one<NodeRow>('SELECT * FROM punctual_node WHERE boot = ?', boot)
    if (!node || !isNodeGone(nodeRecord(node), beats, tx.now)) continue
    const claims = claimsOf(tx, boot)
    for (const claim of claims.slice(0, left)) {
      for (const { ref } of unended(tx, claim)) rescued.push(recoverOne(tx, readEntry(tx, ref) as Entry, 'lost', request))
      deleteClaim(tx, claim.id)
    }
    if (claims.length > left) more = true
    else {
      removeNode(tx, boot)
      removed.push(boot)
    }
    left -= Math.min(left, claims.length)
  }
  rescued.push(...endStale(tx, request))
  const { expired, isMore } = expire(tx)
  return { rescued, removed, more: more || isMore, expired, openHooks: handOutHooks(tx, request) }
}

/** Ends the turns that have outlived their deadline. */
function endStale(tx: Transaction, request: RescueRequest): Rescued[] {
  const stale = 'SELECT ref, turn FROM punctual_start WHERE deadline_at < ? ORDER BY deadline_at, ref'
  return tx.all<{ ref: number; turn: number }>(stale, tx.now).flatMap(({ ref, turn }) => {
    const entry = readEntry(tx, ref)
    return entry?.place === 'claimed' && entry.turn === turn ? [recoverOne(tx, entry, 'stale', request)] : []
  })
}

function recoverOne(tx: Transaction, entry: Entry, by: 'lost' | 'stale', request: RescueRequest): Rescued {
  const { ref, series, turn, record, dueAt: wasDueAt, hasBegun, node } = entry
  const spec = new JobSpecs(tx).of(series, record)
  const member = { by, record, turn, turns: turnsOf(tx, series, ref), dueAt: wasDueAt, hasBegun, node, spec }
  const rest = { startedAt: startOf(tx, entry), cancel: cancelOf(tx, ref) }
  const { answer, row, dueAt } = recoverMember({ ...member, ...rest }, request, tx.now)
  endTurn(tx, entry, row)
  if (dueAt !== null) nextTurn(tx, entry, row, dueAt)
  else noteHook(tx, entry)
  return answer
}

/** How many expiries one call looks at: the next goes on from there. */
const mostExpired = 1000

/** Ends what has not started in time, whether or not a node could have run it. */
function expire(tx: Transaction): { expired: PassedOccurrence[]; isMore: boolean } {
  const rows = tx.all<{ expires_at: number; ref: number }>(
    'SELECT expires_at, ref FROM punctual_expiry WHERE expires_at < ? ORDER BY expires_at, ref LIMIT ? + 0',
    tx.now,
    mostExpired,
  )
  for (const { expires_at, ref } of rows) tx.run('DELETE FROM punctual_expiry WHERE expires_at = ? AND ref = ?', expires_at, ref)
  const refs = [...new Set(rows.map(({ ref }) => ref))].sort((a, b) => a - b)
  return { expired: refs.flatMap((ref) => expireOne(tx, ref)), isMore: rows.length === mostExpired }
}

/** It may have begun, or been put off, since its expiry was noted. Stranded work waits for the planner. */
function expireOne(tx: Transaction, ref: number): PassedOccurrence[] {
  const entry = readEntry(tx, ref)
  if (!entry?.isIdle || entry.wait?.reason === 'stranded') return []
  const { record, hasBegun, dueAt } = entry
  if (!isExpired({ startWithinMs: record.startWithinMs, hasBegun, dueAt }, tx.now)) return []
  endUnattended(tx, entry, notInTime.state, notInTime.reason)
  return [{ id: record.id, tenant: record.tenant, job: record.job, ...notInTime }]
}

/** Gives hooks that have not run to the rescuer, and keeps other nodes from them for a while. */
function handOutHooks(tx: Transaction, { kinds, hookMs, limit }: RescueRequest): RescueAnswer['openHooks'] {
  const free = tx.all<{ ref: number; id: string }>(
    `SELECT u.ref, o.id FROM json_each(?) k CROSS JOIN punctual_hook_note u ON u.kind = k.value AND u.free_at <= ?
      CROSS JOIN punctual_occurrence o ON o.ref = u.ref LIMIT ? + 0`,
    tx.names.kindList(kinds),
    tx.now,
    limit,
  )
  for (const { ref } of free) tx.run('UPDATE punctual_hook_note SET node = NULL, free_at = ? WHERE ref = ?', tx.now + hookMs, ref)
  return free.map(({ ref, id }) => ({ ref, id }))
}
