import type { TurnRecord } from '../../model/occurrence.ts'
import { pulseBeat, unknownBeat } from '../rules/node.ts'
import { nextTurnDue } from '../rules/settle.ts'
import { isStranded } from '../rules/verdict.ts'
import type { Beat, BeatAnswer, CancelNotice, NodeInfo } from '../store.ts'
import { noteStart } from './checkpoint.ts'
import { type ClaimRow, claimsOf, deleteClaim, type StoredMember, unended } from './claim/claim-row.ts'
import { layPickIndex } from './claim/pick.ts'
import type { Transaction } from './connection/transaction.ts'
import { removeNode } from './nodes.ts'
import { cancelOf, endTurn, nextTurn, noteHook } from './occurrence/ends.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'
import { setAside } from './occurrence/live-tables.ts'
import { planSoon } from './plan.ts'

export function beat(tx: Transaction, one: Beat): BeatAnswer {
  const { node, claims, inFlight, long, phase } = one
  const { now } = tx
  const known = tx.one<{ draining: number }>('SELECT draining FROM punctual_node WHERE boot = ?', node.boot)
  const isDraining = known?.draining === 1 || (phase !== 'pulse' && node.isDraining)
  if (!known && phase !== 'join') return unknownBeat(one, now, tx.meta('alive_since'))
  if (phase === 'pulse') {
    tx.setMeta('last_alive_at', now)
    tx.run('UPDATE punctual_node SET beat_at = ?, beats = beats + 1 WHERE boot = ?', now, node.boot)
    return pulseBeat(now, tx.meta('alive_since'), isDraining)
  }
  if (!tx.one('SELECT 1 FROM punctual_node WHERE beat_at + ttl_ms >= ? LIMIT 1', now)) noteBreak(tx)
  const own = claimsOf(tx, node.boot)
  const isKept = ({ id }: ClaimRow) => claims.includes(id) || inFlight.includes(id)
  for (const claim of own) if (!isKept(claim)) release(tx, claim)
  const kept = own.filter(isKept)
  const over: { ref: number; turn: number }[] = []
  for (const one of long)
    if (isRunning(tx, one)) noteStart(tx, one)
    else over.push({ ref: one.ref, turn: one.turn })
  const lost = claims.filter((id) => !kept.some((claim) => claim.id === id))
  const held = kept.flatMap((claim) => unended(tx, claim))
  tx.setMeta('last_alive_at', now)
  if (phase === 'leave' && held.length === 0) removeNode(tx, node.boot)
  else putNode(tx, { ...node, isDraining }, held.length)
  if (node.picks) layPickIndex(tx)
  return { now, aliveSince: tx.meta('alive_since'), known: true, lost, cancels: cancelNotices(tx, held), isDraining, over }
}

function putNode(tx: Transaction, node: NodeInfo, running: number): void {
  const { boot, name, pid, concurrency, kinds, version, tz, ttlMs, release, declares, picks, isDraining, parts } = node
  tx.cache.served = null
  const info = [boot, name, pid, concurrency, JSON.stringify(kinds), version, tz, ttlMs, release, JSON.stringify(declares)]
  tx.run(
    `INSERT INTO punctual_node (boot, name, pid, concurrency, kinds, version, tz, ttl_ms, release, declares, picks, started_at, beat_at,
        beats, running, draining, parts)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, 1, ?13, ?14, ?15)
      ON CONFLICT (boot) DO UPDATE SET name = ?2, pid = ?3, concurrency = ?4, kinds = ?5, version = ?6, tz = ?7, ttl_ms = ?8,
        release = ?9, declares = ?10, picks = ?11, beat_at = ?12, beats = beats + 1, running = ?13, draining = ?14, parts = ?15`,
    ...info,
    picks ? 1 : 0,
    tx.now,
    running,
    isDraining ? 1 : 0,
    JSON.stringify(parts),
  )
}

const selectPlanned = ['ready', 'arrival']
  .map((table) => `SELECT series, ref, due_at FROM punctual_${table} INDEXED BY punctual_${table}_planned WHERE planned = 1`)
  .join(' UNION ALL ')

/** No node was there until now: planned work that came due meanwhile waits for the planner. */
function noteBreak(tx: Transaction): void {
  const { now } = tx
  const lastAliveAt = tx.meta('last_alive_at')
  tx.setMeta('alive_since', now)
  const rows = tx.all<{ series: number; ref: number; due_at: number }>(selectPlanned)
  const due = rows.filter(({ due_at }) => isStranded({ source: 'schedule', hasBegun: false, dueAt: due_at }, lastAliveAt, now))
  for (const { ref } of due.sort((a, b) => a.ref - b.ref))
    setAside(tx, readEntry(tx, ref) as Entry, { reason: 'stranded', key: null, wakeAt: null })
  for (const series of new Set(due.map((row) => row.series))) planSoon(tx, series)
}

/** A claim whose answer never reached its node: nothing of it was started. */
function release(tx: Transaction, claim: ClaimRow): void {
  for (const { ref } of unended(tx, claim)) giveBack(tx, readEntry(tx, ref) as Entry, { node: claim.node })
  deleteClaim(tx, claim.id)
}

/** Ends the turn of running work in the place of its node, and puts it back for its next one. */
export function giveBack(tx: Transaction, entry: Entry, more: Pick<TurnRecord, 'node'> & Partial<TurnRecord>): void {
  const canceled = cancelOf(tx, entry.ref)
  const end = entry.endRow(canceled ? 'canceled' : 'released', tx.now, { ...more, ...canceled })
  endTurn(tx, entry, end)
  if (canceled) noteHook(tx, entry)
  else nextTurn(tx, entry, end, nextTurnDue({ end, delayMs: 0 }, entry, tx.now))
}

function isRunning(tx: Transaction, { ref, turn }: { ref: number; turn: number }): boolean {
  const entry = readEntry(tx, ref)
  return entry?.place === 'claimed' && entry.turn === turn
}

function cancelNotices(tx: Transaction, held: readonly StoredMember[]): CancelNotice[] {
  return held.flatMap(({ ref, turn }) => {
    const canceled = cancelOf(tx, ref)
    return canceled ? [{ ref, turn, reason: canceled.reason }] : []
  })
}
