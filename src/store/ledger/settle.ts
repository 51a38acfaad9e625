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
import { unended } from './claim.ts'
import { find } from './find.ts'
import { type Entry, endOf, type Ledger, stateOf } from './ledger.ts'

export function checkpoint(ledger: Ledger, items: readonly CheckpointItem[]): readonly WriteAnswer[] {
  return items.map((item) => {
    const entry = owned(ledger, item)
    if (!entry) return 'lost'
    addAttempts(entry, item.attempts)
    if (item.progress) entry.progress = item.progress
    if (item.start) entry.start = { turn: item.turn, ...item.start }
    return 'ok'
  })
}

export function settle(ledger: Ledger, items: readonly SettleItem[], done: readonly ClaimRef[]): readonly WriteAnswer[] {
  const answers = items.map((item) => settleOne(ledger, item))
  for (const { id, token } of done) {
    const claim = ledger.claims.get(id)
    if (claim?.token === token && unended(ledger, claim).length === 0) ledger.claims.delete(id)
  }
  return answers
}

function settleOne(ledger: Ledger, item: SettleItem): WriteAnswer {
  const entry = owned(ledger, item)
  if (!entry) return saidBefore(ledger, item) ? 'ok' : 'lost'
  const node = ledger.claims.get(item.claim.id)?.node ?? null
  addAttempts(entry, item.attempts)
  // A cancel that was acknowledged while the turn ran must not be undone by another turn.
  const canceled = goesOn(item.end) && entry.cancel !== null
  ledger.endTurn(entry, {
    ...item.end,
    ...(canceled && { end: 'canceled', reason: entry.cancel?.reason ?? null }),
    turn: item.turn,
    node,
  })
  if (!goesOn(item.end) || canceled) return 'ok'
  const dueAt = ledger.now + item.delayMs
  ledger.nextTurn(entry, dueAt)
  ledger.hint({ kind: 'due', at: dueAt })
  return 'ok'
}

function goesOn({ end }: SettleItem['end']): boolean {
  return end === 'parked' || end === 'released'
}

/** The entry, when the claim stands, the token is right and the turn has not ended: the fence. */
function owned(ledger: Ledger, { claim, ref, turn }: MemberRef): Entry | null {
  const entry = ledger.entries.get(ref)
  const stands = entry?.claim === claim.id && entry.turn === turn && ledger.claims.get(claim.id)?.token === claim.token
  return stands ? (entry as Entry) : null
}

function saidBefore(ledger: Ledger, { ref, turn, end }: SettleItem): boolean {
  const before = ledger.entries.get(ref)?.turns.find((ended) => ended.turn === turn)
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

export function cancel(ledger: Ledger, { which, reason }: CancelRequest): readonly CancelAnswer[] {
  const found = 'entity' in which ? ofEntity(ledger, which) : [find(ledger, which)].filter((entry) => entry !== null)
  const answers = found.map((entry): CancelAnswer => ({ id: entry.record.id, outcome: cancelOne(ledger, entry, reason) }))
  if (answers.some((answer) => answer.outcome === 'canceling')) ledger.hint({ kind: 'cancel' })
  return answers
}

function ofEntity(ledger: Ledger, { tenant, job, entity }: { tenant: string; job: string; entity: string }): Entry[] {
  return [...ledger.entries.values()].filter(
    ({ record, place }) => record.tenant === tenant && record.job === job && record.entity === entity && place !== 'ended',
  )
}

function cancelOne(ledger: Ledger, entry: Entry, reason: string | null): CancelAnswer['outcome'] {
  if (entry.place === 'claimed') {
    entry.cancel ??= { reason }
    return 'canceling'
  }
  if (entry.place === 'ended') return entry.turns.at(-1)?.end === 'canceled' ? 'canceled' : 'ended'
  ledger.endTurn(entry, endOf(entry, 'canceled', ledger.now, { reason }))
  return 'canceled'
}

export function move(ledger: Ledger, { which, to }: MoveRequest): MoveAnswer {
  const entry = find(ledger, which)
  if (!entry) return 'unknown'
  if (entry.place === 'claimed') return 'running'
  if ('due' in to) return entry.place === 'ended' ? 'ended' : ready(ledger, entry, to.due)
  if (stateOf(entry) !== 'dead') return entry.place === 'ended' ? 'ended' : 'not-dead'
  if ('retry' in to) {
    ledger.nextTurn(entry, ledger.dueAt(to.retry))
    ledger.hint({ kind: 'due', at: entry.dueAt })
    return 'moved'
  }
  entry.turn += 1
  ledger.endTurn(entry, endOf(entry, 'canceled', ledger.now, { reason: to.discard }))
  return 'moved'
}

function ready(ledger: Ledger, entry: Entry, due: Due): MoveAnswer {
  const dueAt = ledger.dueAt(due)
  ledger.reschedule(entry, dueAt)
  ledger.hint({ kind: 'due', at: dueAt })
  return 'moved'
}
