import type { TurnEnd } from '../../model/lifecycle.ts'
import { endToWrite, goesOn, isSameEnd, nextTurnDue } from '../rules/settle.ts'
import type { ClaimRef, SettleAnswer, SettleItem, SettleOptions, WriteAnswer } from '../store.ts'
import { deleteClaim, findClaim, unended } from './claim/claim-row.ts'
import { Fence } from './claim/fence.ts'
import { entryOfMember } from './claim/members.ts'
import { claimAfter } from './claim.ts'
import type { Transaction } from './connection/transaction.ts'
import { addAttempts, cancelOf, endTurn, nextTurn, noteHook, putLogs } from './occurrence/ends.ts'

export function settle(tx: Transaction, items: readonly SettleItem[], options: SettleOptions = {}): SettleAnswer {
  const fence = new Fence(tx)
  const answers = items.map((item) => settleOne(tx, fence, item))
  if (options.done)
    deleteDone(
      tx,
      options.done,
      items.filter((_, i) => answers[i] === 'ok'),
    )
  for (const ref of options.hooksDone ?? []) tx.run('DELETE FROM punctual_hook_note WHERE ref = ?', ref)
  return { items: answers, claimed: claimAfter(tx, options.claim) }
}

/** Deletes claims none of whose members is left. */
function deleteDone(tx: Transaction, done: readonly ClaimRef[], ended: readonly SettleItem[]): void {
  const turns = new Map(ended.map(({ member }) => [member.ref, member.turn]))
  for (const { id, token } of done) {
    const standing = findClaim(tx, id)
    if (standing?.token === token && unended(tx, standing, turns).length === 0) deleteClaim(tx, id)
  }
}

function settleOne(tx: Transaction, fence: Fence, item: SettleItem): WriteAnswer {
  const node = fence.nodeOf(item.claim)
  const entry = node === null ? null : entryOfMember(item)
  const written = entry ? endToWrite(item.end, cancelOf(tx, entry.ref)) : item.end
  const end = { ...written, turn: item.member.turn, node }
  if (!entry || !endTurn(tx, entry, end)) return saidBefore(tx, item) ? 'ok' : 'lost'
  if (item.attempts.length > 0) addAttempts(tx, entry.ref, item.attempts)
  putLogs(tx, entry.ref, item.logs)
  if (goesOn(written.end)) nextTurn(tx, entry, end, nextTurnDue(item, entry, tx.now))
  // A cancel that came in between is for any node to report: this one does not know of it.
  else if (entry.record.isHooked)
    noteHook(tx, entry, written.end === item.end.end && item.hookMs ? { node, freeAt: tx.now + item.hookMs } : undefined)
  return 'ok'
}

function saidBefore(tx: Transaction, { member: { ref, turn }, end }: SettleItem): boolean {
  const before = tx.one<{ end: TurnEnd; ended_at: number }>(
    `SELECT t.end, t.ended_at FROM punctual_occurrence o
      JOIN punctual_turn t ON t.series = o.series AND t.ref = o.ref AND t.turn = ? WHERE o.ref = ?`,
    turn,
    ref,
  )
  return before !== undefined && isSameEnd({ end: before.end, endedAt: before.ended_at }, end)
}
