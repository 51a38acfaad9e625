import type { TurnEnd } from '../../model/lifecycle.ts'
import type { CancelAnswer, CancelRequest, ClaimRef, Due, MoveAnswer, MoveRequest, SettleItem, WriteAnswer } from '../store.ts'
import { deleteClaim, type KnownClaims } from './claims.ts'
import { addAttempts, bareEnd, endTurn, type Member, nextTurn, putReady, takeOut } from './ending.ts'
import { Fence } from './fence.ts'
import { find } from './read.ts'
import { type Standing, standings } from './standing.ts'
import type { Transaction } from './transaction.ts'

export function settle(
  tx: Transaction,
  known: KnownClaims,
  items: readonly SettleItem[],
  done: readonly ClaimRef[],
): readonly WriteAnswer[] {
  const fence = new Fence(tx, known)
  const answers = items.map((item) => settleOne(tx, fence, item))
  for (const ref of done) if (fence.claim(ref)) deleteClaim(tx, known, ref.id)
  return answers
}

function settleOne(tx: Transaction, fence: Fence, item: SettleItem): WriteAnswer {
  const member = fence.member(item)
  const node = fence.claim(item.claim)?.node ?? null
  // A cancel that was acknowledged while the turn ran must not be undone by another turn.
  const cancel = member && goesOn(item.end) ? cancelRequest(tx, member) : undefined
  const end = cancel ? { ...item.end, end: 'canceled' as const, reason: cancel[0], node } : { ...item.end, node }
  if (!member || !endTurn(tx, member, end)) return saidBefore(tx, item) ? 'ok' : 'lost'
  addAttempts(tx, item.ref, item.attempts)
  if (goesOn(item.end) && !cancel) nextTurn(tx, member, tx.now + item.delayMs, item.end.end)
  return 'ok'
}

function goesOn({ end }: SettleItem['end']): boolean {
  return end === 'parked' || end === 'released'
}

export function cancelRequest(tx: Transaction, { ref, turn }: Member): [reason: string | null] | undefined {
  if (!tx.has('punctual_cancel_request')) return undefined
  return tx.one('SELECT reason FROM punctual_cancel_request WHERE ref = ? AND turn = ?', ref, turn)
}

function saidBefore(tx: Transaction, { ref, turn, end }: SettleItem): boolean {
  const before = tx.one<[TurnEnd, number]>(
    `SELECT t.end, t.ended_at FROM punctual_occurrence o
      JOIN punctual_turn t ON t.series = o.series AND t.ref = o.ref AND t.turn = ? WHERE o.ref = ?`,
    turn,
    ref,
  )
  return before !== undefined && (before[0] === end.end || (before[0] === 'canceled' && goesOn(end))) && before[1] === end.endedAt
}

export function cancel(tx: Transaction, { which, reason }: CancelRequest): readonly CancelAnswer[] {
  const found = 'entity' in which ? ofEntity(tx, which) : [find(tx, which)].filter((standing) => standing !== null)
  const answers = found.map((standing): CancelAnswer => ({ id: standing.record.id, outcome: cancelOne(tx, standing, reason) }))
  if (answers.some((answer) => answer.outcome === 'canceling')) tx.hints.push({ kind: 'cancel' })
  return answers
}

function ofEntity(tx: Transaction, { tenant, job, entity }: { tenant: string; job: string; entity: string }): Standing[] {
  const series = tx.dictionary.findSeries(tenant, job)
  return series
    ? standings(tx, 'o.series = ? AND o.entity = ?', series.ref, entity).filter((standing) => standing.place !== 'ended')
    : []
}

function cancelOne(tx: Transaction, standing: Standing, reason: string | null): CancelAnswer['outcome'] {
  const { place, ref, turn, state, last } = standing
  if (place === 'claimed') {
    tx.run(
      'INSERT INTO punctual_cancel_request (ref, turn, reason) VALUES (?, ?, ?) ON CONFLICT (ref) DO NOTHING',
      ref,
      turn,
      reason,
    )
    return 'canceling'
  }
  if (place === 'ended') return last?.end === 'canceled' ? 'canceled' : 'ended'
  takeOut(tx, place, standing)
  endTurn(tx, standing, bareEnd('canceled', tx.now, { reason }), state)
  return 'canceled'
}

export function move(tx: Transaction, { which, to }: MoveRequest): MoveAnswer {
  const standing = find(tx, which)
  if (!standing) return 'unknown'
  const { place, state } = standing
  if (place === 'claimed') return 'running'
  if ('due' in to) {
    if (place === 'ended') return 'ended'
    takeOut(tx, place, standing)
    return ready(tx, standing, to.due, state === 'waiting' ? 'pending' : state)
  }
  if (state !== 'dead') return place === 'ended' ? 'ended' : 'not-dead'
  tx.run('DELETE FROM punctual_dead WHERE series = ? AND ref = ?', standing.series, standing.ref)
  const next = { ...standing, turn: standing.turn + 1 }
  if ('retry' in to) return ready(tx, next, to.retry, 'retrying')
  endTurn(tx, next, bareEnd('canceled', tx.now, { reason: to.discard }), 'dead')
  return 'moved'
}

function ready(tx: Transaction, standing: Standing, due: Due, state: Standing['state']): MoveAnswer {
  const dueAt = tx.dueAt(due)
  putReady(tx, { ...standing, dueAt }, state === 'retrying')
  tx.tally(standing.series, standing.state, state)
  tx.hints.push({ kind: 'due', at: dueAt })
  return 'moved'
}
