import { endStates, stateAfter, type TurnEnd } from '../../model/lifecycle.ts'
import type { Beat, BeatAnswer, CancelNotice, NodeInfo, RescueAnswer, RescueRequest } from '../store.ts'
import { type RefRange, rangeOf } from './blocks.ts'
import { noteStart } from './checkpoint.ts'
import { recoveries, turnsOf } from './claim.ts'
import { claimsOf, deleteClaim, findClaim, holders, type KnownClaims, type StandingClaim, unended } from './claims.ts'
import { bareEnd, endTurn, type Member, nextTurn } from './ending.ts'
import { aliveSince } from './plan.ts'
import { cancelRequest } from './settle.ts'
import { heldDue, standings } from './standing.ts'
import type { Transaction } from './transaction.ts'

export function beat(tx: Transaction, known: KnownClaims, { node, claims, inFlight, long, phase }: Beat): BeatAnswer {
  const { now } = tx
  const before = tx.one<[number, number]>('SELECT started_at, beats FROM punctual_node WHERE boot = ?', node.boot)
  if (!before && phase !== 'join') return { now, aliveSince: aliveSince(tx), known: false, lost: claims, cancels: [] }
  if (!tx.one('SELECT 1 FROM punctual_node WHERE beat_at + ttl_ms >= ?', now)) noteBreak(tx)
  const own: StandingClaim[] = []
  for (const claim of claimsOf(tx, known, node.boot)) {
    if (claims.includes(claim.id) || inFlight.includes(claim.id)) own.push(claim)
    else release(tx, known, claim)
  }
  for (const one of long) if (isRunning(tx, one)) noteStart(tx, one)
  const lost = claims.filter((id) => findClaim(tx, known, id)?.node !== node.boot)
  const held = own.flatMap((claim) => unended(tx, claim))
  if (phase === 'leave' && held.length === 0) tx.run('DELETE FROM punctual_node WHERE boot = ?', node.boot)
  else putNode(tx, node, held.length)
  return { now, aliveSince: aliveSince(tx), known: true, lost, cancels: cancelNotices(tx, held) }
}

function putNode(tx: Transaction, { boot, name, pid, concurrency, kinds, version, tz, ttlMs }: NodeInfo, running: number): void {
  tx.run(
    `INSERT INTO punctual_node (boot, name, pid, concurrency, kinds, version, tz, ttl_ms, started_at, beat_at, beats, running)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, 1, ?10)
      ON CONFLICT (boot) DO UPDATE SET name = ?2, pid = ?3, concurrency = ?4, kinds = ?5, version = ?6, tz = ?7, ttl_ms = ?8,
        beat_at = ?9, beats = beats + 1, running = ?10`,
    boot,
    name,
    pid,
    concurrency,
    JSON.stringify(kinds),
    version,
    tz,
    ttlMs,
    tx.now,
    running,
  )
}

/** Nobody was there until now: what was planned and came due meanwhile waits for the planner's word. */
function noteBreak(tx: Transaction): void {
  const { now } = tx
  tx.run("UPDATE punctual_meta SET value = ? WHERE name = 'alive_since'", now)
  const rows = tx.all<[number, number]>(
    'SELECT series, ref FROM punctual_ready INDEXED BY punctual_ready_planned WHERE planned = 1 AND due_at < ?',
    now,
  )
  for (const [series, ref] of rows) {
    tx.run(
      `INSERT INTO punctual_waiting (series, ref, kind, priority, due_at, turn, reason)
        SELECT series, ref, kind, priority, due_at, turn, 'stranded' FROM punctual_ready WHERE series = ? AND ref = ?`,
      series,
      ref,
    )
    tx.run('DELETE FROM punctual_ready WHERE series = ? AND ref = ?', series, ref)
    tx.tally(series, 'pending', 'waiting')
  }
  for (const series of new Set(rows.map(([one]) => one)))
    tx.run('UPDATE punctual_job SET next_at = min(coalesce(next_at, ?1), ?1) WHERE series = ?2', now, series)
}

/** A claim whose answer never reached its node: nothing of it was started. */
function release(tx: Transaction, known: KnownClaims, claim: StandingClaim): void {
  const { node } = claim
  for (const member of unended(tx, claim)) {
    const canceled = cancelRequest(tx, member)
    if (canceled) endTurn(tx, member, bareEnd('canceled', tx.now, { node, reason: canceled[0] }))
    else putBack(tx, member, bareEnd('released', tx.now, { node }), tx.now)
  }
  deleteClaim(tx, known, claim.id)
}

function putBack(tx: Transaction, member: Member, end: ReturnType<typeof bareEnd>, dueAt: number): void {
  endTurn(tx, member, end)
  nextTurn(tx, member, dueAt, end.end)
}

function isRunning(tx: Transaction, { ref, turn }: { ref: number; turn: number }): boolean {
  const [standing] = standings(tx, 'o.ref = ?', ref)
  return standing?.place === 'claimed' && standing.turn === turn
}

function cancelNotices(tx: Transaction, held: readonly Member[]): CancelNotice[] {
  return held.flatMap((member) => {
    const request = cancelRequest(tx, member)
    return request ? [{ ref: member.ref, turn: member.turn, reason: request[0] }] : []
  })
}

type Rescued = RescueAnswer['rescued'][number]

export function rescue(tx: Transaction, known: KnownClaims, { gone, delaysMs, limit }: RescueRequest): RescueAnswer {
  const rescued: Rescued[] = []
  const removed: string[] = []
  let left = limit
  let more = false
  for (const { boot, beats } of gone) {
    if (!tx.one('SELECT 1 FROM punctual_node WHERE boot = ? AND beats = ? AND ? - beat_at >= ttl_ms', boot, beats, tx.now))
      continue
    const claims = claimsOf(tx, known, boot)
    for (const claim of claims.slice(0, left)) {
      for (const member of unended(tx, claim)) rescued.push(recover(tx, member, { end: 'lost', node: boot, delaysMs }))
      deleteClaim(tx, known, claim.id)
    }
    if (claims.length > left) more = true
    else if (tx.run('DELETE FROM punctual_node WHERE boot = ?', boot) > 0) removed.push(boot)
    left -= Math.min(left, claims.length)
  }
  return { rescued: [...rescued, ...endOverdue(tx, delaysMs)], removed, more }
}

/** Ends the turns that have outlived their deadline. */
function endOverdue(tx: Transaction, delaysMs: readonly number[]): Rescued[] {
  const overdue = tx.all<[number, number]>('SELECT ref, turn FROM punctual_start WHERE deadline_at < ? ORDER BY ref', tx.now)
  return overdue.flatMap(([ref, turn]) => {
    const [standing] = standings(tx, 'o.ref = ?', ref)
    if (standing?.place !== 'claimed' || standing.turn !== turn) return []
    const held = holders(tx, ref)
    return [
      recover(tx, { ...standing, dueAt: heldDue(standing, held) }, { end: 'stale', node: held.get(ref)?.node ?? null, delaysMs }),
    ]
  })
}

function recover(
  tx: Transaction,
  member: Member,
  { end, node, delaysMs }: { end: 'lost' | 'stale'; node: string | null; delaysMs: readonly number[] },
): Rescued {
  const { now } = tx
  const { series, ref, turn } = member
  const [id, job] = tx.one<[string, string]>(
    'SELECT o.id, s.job FROM punctual_occurrence o JOIN punctual_series s ON s.ref = o.series WHERE o.ref = ?',
    ref,
  ) as [string, string]
  const answer = (outcome: Rescued['outcome']) => ({ id, job, turn, outcome })
  const before = recoveries(turnsOf(tx, series, ref))
  const startedAt = tx.one<[number]>('SELECT started_at FROM punctual_start WHERE ref = ? AND turn = ?', ref, turn)?.[0] ?? null
  const canceled = cancelRequest(tx, member)
  if (canceled) {
    endTurn(tx, member, bareEnd('canceled', now, { node, startedAt, reason: canceled[0] }))
    return answer('canceled')
  }
  // From its first recovery on an occurrence's start is recorded, so that one that had not started is not blamed.
  if (end === 'lost' && before > 0 && startedAt === null) {
    putBack(tx, member, bareEnd('released', now, { node }), now)
    return answer('released')
  }
  const delayMs = delaysMs[before]
  if (delayMs === undefined) {
    const message = `It was ${end === 'lost' ? 'lost with its node' : 'over its deadline'} after ${before} recoveries`
    endTurn(tx, member, bareEnd('dead', now, { node, startedAt, reason: end, error: { message, code: `occurrence.${end}` } }))
    return answer('dead')
  }
  putBack(tx, member, bareEnd(end, now, { node, startedAt }), now + delayMs)
  return answer(end)
}

const ends = endStates.map((end) => `'${end}'`).join(', ')

/** Deletes ended occurrences, those created first before the others. */
export function prune(
  tx: Transaction,
  { endedBefore, keyRetentionMs, limit }: { endedBefore: number; keyRetentionMs: number; limit: number },
): { pruned: number } {
  tx.run('DELETE FROM punctual_tombstone WHERE until < ?', tx.now)
  let pruned = 0
  for (const block of tx.blocks.endedBefore(endedBefore)) {
    if (pruned === limit) break
    const rows = endedIn(tx, rangeOf(block), endedBefore, limit - pruned)
    for (const row of rows) remove(tx, row, tx.now + keyRetentionMs)
    const newest = rows.at(-1)
    if (newest) tx.notePruned(newest.ref)
    pruned += rows.length
    if (pruned < limit) noteSwept(tx, block, endedBefore)
  }
  return { pruned }
}

interface Ended {
  readonly series: number
  readonly ref: number
  readonly end: TurnEnd
}

function endedIn(tx: Transaction, { from, to }: RefRange, before: number, limit: number): Ended[] {
  const rows = tx.all<[number, number, TurnEnd]>(
    `SELECT o.series, o.ref, t.end FROM punctual_occurrence o CROSS JOIN punctual_turn t ON t.series = o.series AND t.ref = o.ref
      WHERE o.ref >= ? AND o.ref < ? AND t.end IN (${ends}) AND t.ended_at < ? ORDER BY o.ref LIMIT ?`,
    from,
    to,
    before,
    limit,
  )
  return rows.map(([series, ref, end]) => ({ series, ref, end }))
}

/** What is left in the block ended later, or has yet to end. */
function noteSwept(tx: Transaction, block: number, endedBefore: number): void {
  const { from, to } = rangeOf(block)
  const [left, firstEndAt] = tx.one<[number, number | null]>(
    `SELECT count(*), min(t.ended_at) FROM punctual_occurrence o
      LEFT JOIN punctual_turn t ON t.series = o.series AND t.ref = o.ref AND t.end IN (${ends}) WHERE o.ref >= ? AND o.ref < ?`,
    from,
    to,
  ) as [number, number | null]
  tx.blocks.pruned(block, firstEndAt ?? endedBefore, left === 0)
}

function remove(tx: Transaction, { series, ref, end }: Ended, until: number): void {
  tx.run(
    `INSERT OR REPLACE INTO punctual_tombstone (id, until) SELECT id, ? FROM punctual_occurrence
      WHERE ref = ? AND (source IN ('schedule', 'recovery') OR (key IS NOT NULL AND uniqueness = 'ever'))`,
    until,
    ref,
  )
  tx.run('DELETE FROM punctual_occurrence WHERE ref = ?', ref)
  tx.run('DELETE FROM punctual_turn WHERE series = ? AND ref = ?', series, ref)
  tx.run('DELETE FROM punctual_attempt WHERE ref = ?', ref)
  tx.run('DELETE FROM punctual_progress WHERE ref = ?', ref)
  tx.tally(series, stateAfter[end], null)
}
