import { endToWrite, goesOn, isSameEnd, nextTurnDue } from '../rules/settle.ts'
import type { SettleAnswer, SettleItem, SettleOptions, WriteAnswer } from '../store.ts'
import { addAttempts, owned, putLogs } from './checkpoint.ts'
import { unended, writeAndClaim } from './claim.ts'
import type { State } from './state.ts'

export function settle(state: State, items: readonly SettleItem[], options: SettleOptions = {}): SettleAnswer {
  const [answers, claimed] = writeAndClaim(state, options.claim, () => end(state, items, options))
  return { items: answers, claimed }
}

function end(state: State, items: readonly SettleItem[], { done = [], hooksDone = [] }: SettleOptions): readonly WriteAnswer[] {
  const answers = items.map((item) => settleOne(state, item))
  for (const { id, token } of done) {
    const standing = state.claims.get(id)
    if (standing?.token === token && unended(state, standing).length === 0) state.claims.delete(id)
  }
  for (const ref of hooksDone) state.hookNotes.delete(ref)
  return answers
}

function settleOne(state: State, item: SettleItem): WriteAnswer {
  const entry = owned(state, item)
  if (!entry) return saidBefore(state, item) ? 'ok' : 'lost'
  const { now } = state
  const node = state.nodeOf(entry)
  const written = endToWrite(item.end, entry.cancel)
  const end = { ...written, turn: entry.turn, node }
  addAttempts(entry, item.attempts)
  putLogs(entry, item.logs)
  state.endTurn(entry, end)
  if (goesOn(written.end)) {
    const dueAt = nextTurnDue(item, entry, now)
    state.nextTurn(entry, end, dueAt)
    state.hint({ kind: 'due', at: dueAt })
    return 'ok'
  }
  // A cancel that came in between is for any node to report: this one does not know of it.
  const isOwn = written.end === item.end.end
  if (entry.record.isHooked) state.noteHook(entry, isOwn && item.hookMs ? { node, freeAt: now + item.hookMs } : undefined)
  return 'ok'
}

function saidBefore(state: State, { member: { ref, turn }, end }: SettleItem): boolean {
  const before = state.entries.get(ref)?.turns.find((ended) => ended.turn === turn)
  return before !== undefined && isSameEnd(before, end)
}
