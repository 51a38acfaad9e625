import type { TurnEnd } from '../../model/lifecycle.ts'
import { bareEnd } from '../../model/turn.ts'
import type { CancelAnswer, CancelRequest, ClaimRef, Due, MoveAnswer, MoveRequest, SettleItem, WriteAnswer } from '../store.ts'
import { cancelRequest, requestCancel } from './cancel-request.ts'
import { deleteClaim, hasUnended, type KnownClaims } from './claims.ts'
import { addAttempts, endTurn, nextTurn } from './ending.ts'
import { Fence } from './fence.ts'
import { freeAll, keysOf, passOn } from './keys.ts'
import { putReady, takeOut } from './place.ts'
import { find } from './read.ts'
import { restanding, type Standing, standings } from './standing.ts'
import type { Transaction } from './transaction.ts'

export function settle(
  tx: Transaction,
  known: KnownClaims,
  items: readonly SettleItem[],
  done: readonly ClaimRef[],
): readonly WriteAnswer[] {
  const fence = new Fence(tx, known)
  const answers = items.map((item) => settleOne(tx, fence, item))
  for (const ref of done) {
    const claim = fence.claim(ref)
    if (claim && !hasUnended(tx, claim)) deleteClaim(tx, known, ref.id)
  }
  return answers
}

function settleOne(tx: Transaction, fence: Fence, item: SettleItem): WriteAnswer {
  const member = fence.member(item)
  const claim = fence.claim(item.claim)
  const node = claim?.node ?? null
  // A cancel that was acknowledged while the turn ran must not be undone by another turn.
  const cancel = member && goesOn(item.end) ? cancelRequest(tx, member) : undefined
  const end = cancel ? { ...item.end, end: 'canceled' as const, reason: cancel[0], node } : { ...item.end, node }
  if (!member || !endTurn(tx, member, end)) return saidBefore(tx, item) ? 'ok' : 'lost'
  claim?.ended.add(item.ref)
  addAttempts(tx, item.ref, item.attempts)
  if (goesOn(item.end) && !cancel) nextTurn(tx, member, tx.now + item.delayMs, item.end.end)
  return 'ok'
}

function goesOn({ end }: SettleItem['end']): boolean {
  return end === 'parked' || end === 'released'
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
  const answers = found.map(
    (standing): CancelAnswer => ({
      id: standing.record.id,
      // Ending one may have let another go on that waited for it.
      outcome: cancelOne(tx, restanding(tx, standing), reason),
    }),
  )
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
  const { place, state, last } = standing
  if (place === 'claimed') {
    requestCancel(tx, standing, reason)
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
    ready(tx, standing, to.due, standing.isRetrying ? 'retrying' : 'pending')
    if (standing.hasHolds) giveUp(tx, standing)
    return 'moved'
  }
  if (state !== 'dead') return place === 'ended' ? 'ended' : 'not-dead'
  tx.run('DELETE FROM punctual_dead WHERE series = ? AND ref = ?', standing.series, standing.ref)
  const next = { ...standing, turn: standing.turn + 1 }
  if ('retry' in to) return ready(tx, next, to.retry, 'retrying')
  endTurn(tx, next, bareEnd('canceled', tx.now, { reason: to.discard }), 'dead')
  return 'moved'
}

/** One that has not begun gives up its place with its time; another only its chances. */
function giveUp(tx: Transaction, { ref, turn, record }: Standing): void {
  if (turn === 1) freeAll(tx, ref)
  else passOn(tx, record.holds, keysOf(tx, ref))
}

function ready(tx: Transaction, standing: Standing, due: Due, state: Standing['state']): MoveAnswer {
  const dueAt = tx.dueAt(due)
  putReady(tx, { ...standing, dueAt }, state === 'retrying')
  tx.tally(standing.series, standing.state, state)
  tx.hints.push({ kind: 'due', at: dueAt })
  return 'moved'
}
