import type { AttemptRecord, TurnRecord } from '../../model/occurrence.ts'
import type {
  CancelAnswer,
  CancelRequest,
  CheckpointItem,
  ClaimRef,
  Due,
  MemberRef,
  MoveAnswer,
  MoveRequest,
  SettleItem,
  WriteAnswer,
} from '../store.ts'
import { find } from './read.ts'
import { type Entry, endOf, type MemoryState, stateOf } from './state.ts'

export function checkpoint(state: MemoryState, items: readonly CheckpointItem[]): readonly WriteAnswer[] {
  return items.map((item) => {
    const entry = owned(state, item)
    if (!entry) return 'lost'
    addAttempts(entry, item.attempts)
    if (item.progress) entry.progress = item.progress
    if (item.start) entry.start = { turn: item.turn, ...item.start }
    return 'ok'
  })
}

export function settle(state: MemoryState, items: readonly SettleItem[], done: readonly ClaimRef[]): readonly WriteAnswer[] {
  const answers = items.map((item) => settleOne(state, item))
  for (const { id, token } of done) if (state.claims.get(id)?.token === token) state.claims.delete(id)
  return answers
}

function settleOne(state: MemoryState, item: SettleItem): WriteAnswer {
  const entry = owned(state, item)
  if (!entry) return saidBefore(state, item) ? 'ok' : 'lost'
  const node = state.claims.get(item.claim.id)?.node ?? null
  addAttempts(entry, item.attempts)
  // A cancel that was acknowledged while the turn ran must not be undone by another turn.
  const canceled = goesOn(item.end) && entry.cancel !== null
  state.endTurn(entry, {
    ...item.end,
    ...(canceled && { end: 'canceled', reason: entry.cancel?.reason ?? null }),
    turn: item.turn,
    node,
  })
  if (!goesOn(item.end) || canceled) return 'ok'
  const dueAt = state.now + item.delayMs
  state.nextTurn(entry, dueAt)
  state.hint({ kind: 'due', at: dueAt })
  return 'ok'
}

function goesOn({ end }: SettleItem['end']): boolean {
  return end === 'parked' || end === 'released'
}

/** The entry, when the claim stands, the token is right and the turn has not ended: the fence. */
function owned(state: MemoryState, { claim, ref, turn }: MemberRef): Entry | null {
  const entry = state.entries.get(ref)
  const stands = entry?.claim === claim.id && entry.turn === turn && state.claims.get(claim.id)?.token === claim.token
  return stands ? (entry as Entry) : null
}

function saidBefore(state: MemoryState, { ref, turn, end }: SettleItem): boolean {
  const before = state.entries.get(ref)?.turns.find((ended) => ended.turn === turn)
  return before !== undefined && isSameEnd(before, end)
}

function isSameEnd(before: TurnRecord, said: SettleItem['end']): boolean {
  const recorded = before.end === said.end || (before.end === 'canceled' && goesOn(said))
  return recorded && before.endedAt === said.endedAt
}

function addAttempts(entry: Entry, attempts: readonly AttemptRecord[]): void {
  for (const attempt of attempts)
    if (!entry.attempts.some(({ task, n }) => task === attempt.task && n === attempt.n)) entry.attempts.push(attempt)
}

export function cancel(state: MemoryState, { which, reason }: CancelRequest): readonly CancelAnswer[] {
  const found = 'entity' in which ? ofEntity(state, which) : [find(state, which)].filter((entry) => entry !== null)
  const answers = found.map((entry): CancelAnswer => ({ id: entry.record.id, outcome: cancelOne(state, entry, reason) }))
  if (answers.some((answer) => answer.outcome === 'canceling')) state.hint({ kind: 'cancel' })
  return answers
}

function ofEntity(state: MemoryState, { tenant, job, entity }: { tenant: string; job: string; entity: string }): Entry[] {
  return [...state.entries.values()].filter(
    ({ record, place }) => record.tenant === tenant && record.job === job && record.entity === entity && place !== 'ended',
  )
}

function cancelOne(state: MemoryState, entry: Entry, reason: string | null): CancelAnswer['outcome'] {
  if (entry.place === 'claimed') {
    entry.cancel ??= { reason }
    return 'canceling'
  }
  if (entry.place === 'ended') return entry.turns.at(-1)?.end === 'canceled' ? 'canceled' : 'ended'
  state.endTurn(entry, endOf(entry, 'canceled', state.now, { reason }))
  return 'canceled'
}

export function move(state: MemoryState, { which, to }: MoveRequest): MoveAnswer {
  const entry = find(state, which)
  if (!entry) return 'unknown'
  if (entry.place === 'claimed') return 'running'
  if ('due' in to) return entry.place === 'ended' ? 'ended' : ready(state, entry, to.due)
  if (stateOf(entry) !== 'dead') return entry.place === 'ended' ? 'ended' : 'not-dead'
  if ('retry' in to) {
    state.nextTurn(entry, state.dueAt(to.retry))
    state.hint({ kind: 'due', at: entry.dueAt })
    return 'moved'
  }
  entry.turn += 1
  state.endTurn(entry, endOf(entry, 'canceled', state.now, { reason: to.discard }))
  return 'moved'
}

function ready(state: MemoryState, entry: Entry, due: Due): MoveAnswer {
  const dueAt = state.dueAt(due)
  state.reschedule(entry, dueAt)
  state.hint({ kind: 'due', at: dueAt })
  return 'moved'
}
