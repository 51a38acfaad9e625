import { bareEnd, recoveries } from '../../model/turn.ts'
import { nodeColumns, nodeValues } from '../rows/node-row.ts'
import type { Beat, BeatAnswer, CancelNotice, NodeInfo, RescueAnswer, RescueRequest } from '../store.ts'
import { cancelRequest } from './cancel-request.ts'
import { noteStart } from './checkpoint.ts'
import { claimsOf, deleteClaim, findClaim, holders, type KnownClaims, type StandingClaim, unended } from './claims.ts'
import { endTurn, nextTurn } from './ending.ts'
import { expire } from './expire.ts'
import { holdsOf, keysOf, passOn } from './keys.ts'
import { turnsOf } from './members.ts'
import { type Member, makeWait } from './place.ts'
import { aliveSince } from './plan.ts'
import { heldDue, standings } from './standing.ts'
import type { Transaction } from './transaction.ts'

export function beat(tx: Transaction, known: KnownClaims, { node, claims, inFlight, long, phase }: Beat): BeatAnswer {
  const { now } = tx
  const before = tx.one<[number, number]>('SELECT started_at, beats FROM punctual_node WHERE boot = ?', node.boot)
  if (!before && phase !== 'join') return { now, aliveSince: aliveSince(tx), known: false, lost: claims, cancels: [] }
  if (phase === 'pulse') {
    tx.run('UPDATE punctual_node SET beat_at = ?, beats = beats + 1 WHERE boot = ?', now, node.boot)
    return { now, aliveSince: aliveSince(tx), known: true, lost: [], cancels: [] }
  }
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
  if (node.picks) for (const name of node.kinds) tx.layLanes(tx.dictionary.kind(name))
  return { now, aliveSince: aliveSince(tx), known: true, lost, cancels: cancelNotices(tx, held) }
}

function putNode(tx: Transaction, node: NodeInfo, running: number): void {
  tx.run(
    `INSERT INTO punctual_node
      (boot, ${nodeColumns.join(', ')})
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, 1, ?13)
      ON CONFLICT (boot) DO UPDATE SET name = ?2, pid = ?3, concurrency = ?4, kinds = ?5, version = ?6, tz = ?7, ttl_ms = ?8,
        release = ?9, declares = ?10, picks = ?11, beat_at = ?12, beats = beats + 1, running = ?13`,
    node.boot,
    ...nodeValues(node),
    node.picks ? 1 : 0,
    tx.now,
    running,
  )
}

/** Nobody was there until now: what was planned and came due meanwhile waits for the planner's word. */
function noteBreak(tx: Transaction): void {
  const { now } = tx
  tx.run("UPDATE punctual_meta SET value = ? WHERE name = 'alive_since'", now)
  const rows = tx.all<[series: number, ref: number]>(
    'SELECT series, ref FROM punctual_ready INDEXED BY punctual_ready_planned WHERE planned = 1 AND due_at <= ?',
    now,
  )
  for (const [series, ref] of rows.sort(([, a], [, b]) => a - b)) {
    const held = keysOf(tx, ref)
    makeWait(tx, [series, ref, 0], { reason: 'stranded', key: null, wakeAt: null })
    passOn(tx, holdsOf(tx, ref), held)
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
    // After the store's clock was set back a beat may lie ahead of it: then only the observer's clock can tell.
    if (
      !tx.one(
        'SELECT 1 FROM punctual_node WHERE boot = ?1 AND beats = ?2 AND (beat_at > ?3 OR ?3 - beat_at >= ttl_ms)',
        boot,
        beats,
        tx.now,
      )
    )
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
  rescued.push(...endOverdue(tx, delaysMs))
  const { expired, isMore } = expire(tx)
  return { rescued, removed, more: more || isMore, expired }
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
