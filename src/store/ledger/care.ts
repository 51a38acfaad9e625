import { isEnd } from '../../model/lifecycle.ts'
import type { TurnRecord } from '../../model/occurrence.ts'
import { recoveries } from '../../model/turn.ts'
import type {
  Beat,
  BeatAnswer,
  CancelNotice,
  NodeRecord,
  PassedOccurrence,
  PruneAnswer,
  PruneRequest,
  RescueAnswer,
  RescueRequest,
} from '../store.ts'
import { isExpired, unended } from './claim.ts'
import { type Claim, type Entry, endOf, jobKey, type Ledger, stateOf } from './ledger.ts'

export function beat(ledger: Ledger, { node, claims, inFlight, long, phase }: Beat): BeatAnswer {
  const now = ledger.now
  const known = ledger.nodes.get(node.boot)
  if (!known && phase !== 'join') return { now, aliveSince: ledger.aliveSince, known: false, lost: claims, cancels: [] }
  if (known && phase === 'pulse') {
    ledger.nodes.set(node.boot, { ...known, beatAt: now, beats: known.beats + 1 })
    return { now, aliveSince: ledger.aliveSince, known: true, lost: [], cancels: [] }
  }
  if (![...ledger.nodes.values()].some((other) => other.beatAt + other.ttlMs >= now)) noteBreak(ledger, now)
  const own = [...ledger.claims.values()].filter((claim) => claim.node === node.boot)
  for (const claim of own) if (!claims.includes(claim.id) && !inFlight.includes(claim.id)) release(ledger, claim, now)
  for (const { ref, turn, startedAt, deadlineAt } of long) {
    const entry = ledger.entries.get(ref)
    if (entry?.place === 'claimed' && entry.turn === turn) entry.start = { turn, startedAt, deadlineAt }
  }
  const lost = claims.filter((id) => ledger.claims.get(id)?.node !== node.boot)
  const running = own.reduce((sum, claim) => sum + unended(ledger, claim).length, 0)
  const record: NodeRecord = { ...node, startedAt: known?.startedAt ?? now, beatAt: now, beats: (known?.beats ?? 0) + 1, running }
  if (phase === 'leave' && running === 0) ledger.nodes.delete(node.boot)
  else ledger.nodes.set(node.boot, record)
  return { now, aliveSince: ledger.aliveSince, known: true, lost, cancels: cancelNotices(ledger, own) }
}

/** Nobody was there until now: what was planned and came due meanwhile waits for the planner's word. */
function noteBreak(ledger: Ledger, now: number): void {
  ledger.aliveSince = now
  for (const entry of [...ledger.entries.values()].filter((one) => isStranded(one, now))) {
    ledger.makeWait(entry, { reason: 'stranded', key: null, wakeAt: null })
    const key = jobKey(entry.record.tenant, entry.record.job)
    const record = ledger.jobs.get(key)
    if (record) ledger.jobs.set(key, { ...record, nextAt: Math.min(record.nextAt ?? now, now) })
  }
}

function isStranded({ place, turn, dueAt, record: { source } }: Entry, now: number): boolean {
  return place === 'ready' && turn === 1 && dueAt <= now && (source === 'schedule' || source === 'recovery')
}

/** A claim whose answer never reached its node: nothing of it was started. */
export function release(ledger: Ledger, claim: Claim, now: number): void {
  for (const entry of unended(ledger, claim)) {
    const { node } = claim
    if (entry.cancel) ledger.endTurn(entry, endOf(entry, 'canceled', now, { node, reason: entry.cancel.reason }))
    else putBack(ledger, entry, endOf(entry, 'released', now, { node }), now)
  }
  ledger.claims.delete(claim.id)
}

function putBack(ledger: Ledger, entry: Entry, end: TurnRecord, dueAt: number): void {
  ledger.endTurn(entry, end)
  ledger.nextTurn(entry, dueAt)
  ledger.hint({ kind: 'due', at: dueAt })
}

function cancelNotices(ledger: Ledger, own: readonly Claim[]): CancelNotice[] {
  return own.flatMap((claim) =>
    unended(ledger, claim).flatMap(({ ref, turn, cancel }) => (cancel ? [{ ref, turn, reason: cancel.reason }] : [])),
  )
}

export function rescue(ledger: Ledger, request: RescueRequest): RescueAnswer {
  const now = ledger.now
  const rescued: RescueAnswer['rescued'][number][] = []
  const removed: string[] = []
  let left = request.limit
  let more = false
  for (const { boot, beats } of request.gone) {
    const node = ledger.nodes.get(boot)
    if (!node || !isGone(node, beats, now)) continue
    const claims = [...ledger.claims.values()].filter((claim) => claim.node === boot)
    for (const claim of claims.slice(0, left)) {
      for (const entry of unended(ledger, claim))
        rescued.push(recover(ledger, entry, { end: 'lost', node: boot, now, delaysMs: request.delaysMs }))
      ledger.claims.delete(claim.id)
    }
    if (claims.length > left) more = true
    else if (ledger.nodes.delete(boot)) removed.push(boot)
    left -= Math.min(left, claims.length)
  }
  for (const entry of ledger.entries.values()) {
    if (entry.place !== 'claimed' || entry.start?.turn !== entry.turn || entry.start.deadlineAt >= now) continue
    const node = ledger.claims.get(entry.claim as string)?.node ?? null
    rescued.push(recover(ledger, entry, { end: 'stale', node, now, delaysMs: request.delaysMs }))
  }
  return { rescued, removed, more, expired: expire(ledger) }
}

/** Whether a node that an observer has seen at so many beats, and no more for its ttl, is gone by the store's clock too. */
export function isGone(node: Pick<NodeRecord, 'beats' | 'beatAt' | 'ttlMs'>, beats: number, now: number): boolean {
  // After the store's clock was set back a beat may lie ahead of it: then only the observer's clock can tell.
  const isFresh = node.beatAt <= now && now - node.beatAt < node.ttlMs
  return node.beats === beats && !isFresh
}

/** Ends what has not started in time, whether or not a node could have run it. */
function expire(ledger: Ledger): PassedOccurrence[] {
  const late = [...ledger.entries.values()].filter(
    (entry) =>
      (entry.place === 'ready' || entry.place === 'waiting') && entry.wait?.reason !== 'stranded' && isExpired(ledger, entry),
  )
  return late.map((entry) => {
    const { id, tenant, job } = entry.record
    const passed = { state: 'missed', reason: 'not started in time' } as const
    ledger.endTurn(entry, endOf(entry, passed.state, ledger.now, { reason: passed.reason }))
    return { id, tenant, job, ...passed }
  })
}

function recover(
  ledger: Ledger,
  entry: Entry,
  { end, node, now, delaysMs }: { end: 'lost' | 'stale'; node: string | null; now: number; delaysMs: readonly number[] },
): RescueAnswer['rescued'][number] {
  const { turn, record } = entry
  const answer = (outcome: RescueAnswer['rescued'][number]['outcome']) => ({ id: record.id, job: record.job, turn, outcome })
  const before = recoveries(entry.turns)
  const startedAt = entry.start?.turn === turn ? entry.start.startedAt : null
  if (entry.cancel) {
    ledger.endTurn(entry, endOf(entry, 'canceled', now, { node, startedAt, reason: entry.cancel.reason }))
    return answer('canceled')
  }
  // From its first recovery on an occurrence's start is recorded, so that one that had not started is not blamed.
  if (end === 'lost' && before > 0 && startedAt === null) {
    putBack(ledger, entry, endOf(entry, 'released', now, { node }), now)
    return answer('released')
  }
  const delayMs = delaysMs[before]
  if (delayMs === undefined) {
    const message = `It was ${end === 'lost' ? 'lost with its node' : 'over its deadline'} after ${before} recoveries`
    ledger.endTurn(
      entry,
      endOf(entry, 'dead', now, { node, startedAt, reason: end, error: { message, code: `occurrence.${end}` } }),
    )
    return answer('dead')
  }
  putBack(ledger, entry, endOf(entry, end, now, { node, startedAt }), now + delayMs)
  return answer(end)
}

export function prune(ledger: Ledger, { endedBefore, keyRetentionMs, limit }: PruneRequest): PruneAnswer {
  const now = ledger.now
  for (const [id, until] of ledger.tombstones) if (until < now) ledger.tombstones.delete(id)
  let pruned = 0
  for (const entry of [...ledger.entries.values()]) {
    if (pruned >= limit) break
    const last = entry.turns.at(-1)
    if (entry.place !== 'ended' || !last || !isEnd(stateOf(entry)) || last.endedAt >= endedBefore) continue
    if (leavesTombstone(entry)) ledger.tombstones.set(entry.record.id, now + keyRetentionMs)
    ledger.remove(entry)
    pruned++
  }
  return { pruned, more: pruned === limit }
}

function leavesTombstone({ record }: Entry): boolean {
  return record.source === 'schedule' || record.source === 'recovery' || (record.key !== null && record.unique === 'ever')
}
