import { isEnd } from '../../model/lifecycle.ts'
import type { TurnRecord } from '../../model/occurrence.ts'
import { recoveries } from '../../model/turn.ts'
import type { Beat, BeatAnswer, CancelNotice, NodeRecord, PassedOccurrence, RescueAnswer, RescueRequest } from '../store.ts'
import { isExpired, unended } from './claim.ts'
import { type Claim, type Entry, endOf, jobKey, type MemoryState, stateOf } from './state.ts'

export function beat(state: MemoryState, { node, claims, inFlight, long, phase }: Beat): BeatAnswer {
  const now = state.now
  const known = state.nodes.get(node.boot)
  if (!known && phase !== 'join') return { now, aliveSince: state.aliveSince, known: false, lost: claims, cancels: [] }
  if (![...state.nodes.values()].some((other) => other.beatAt + other.ttlMs >= now)) noteBreak(state, now)
  const own = [...state.claims.values()].filter((claim) => claim.node === node.boot)
  for (const claim of own) if (!claims.includes(claim.id) && !inFlight.includes(claim.id)) release(state, claim, now)
  for (const { ref, turn, startedAt, deadlineAt } of long) {
    const entry = state.entries.get(ref)
    if (entry?.place === 'claimed' && entry.turn === turn) entry.start = { turn, startedAt, deadlineAt }
  }
  const lost = claims.filter((id) => state.claims.get(id)?.node !== node.boot)
  const running = own.reduce((sum, claim) => sum + unended(state, claim).length, 0)
  const record: NodeRecord = { ...node, startedAt: known?.startedAt ?? now, beatAt: now, beats: (known?.beats ?? 0) + 1, running }
  if (phase === 'leave' && running === 0) state.nodes.delete(node.boot)
  else state.nodes.set(node.boot, record)
  return { now, aliveSince: state.aliveSince, known: true, lost, cancels: cancelNotices(state, own) }
}

/** Nobody was there until now: what was planned and came due meanwhile waits for the planner's word. */
function noteBreak(state: MemoryState, now: number): void {
  state.aliveSince = now
  for (const entry of [...state.entries.values()].filter((one) => isStranded(one, now))) {
    state.makeWait(entry, { reason: 'stranded', key: null, wakeAt: null })
    const key = jobKey(entry.record.tenant, entry.record.job)
    const record = state.jobs.get(key)
    if (record) state.jobs.set(key, { ...record, nextAt: Math.min(record.nextAt ?? now, now) })
  }
}

function isStranded({ place, turn, dueAt, record: { source } }: Entry, now: number): boolean {
  return place === 'ready' && turn === 1 && dueAt <= now && (source === 'schedule' || source === 'recovery')
}

/** A claim whose answer never reached its node: nothing of it was started. */
function release(state: MemoryState, claim: Claim, now: number): void {
  for (const entry of unended(state, claim)) {
    const { node } = claim
    if (entry.cancel) state.endTurn(entry, endOf(entry, 'canceled', now, { node, reason: entry.cancel.reason }))
    else putBack(state, entry, endOf(entry, 'released', now, { node }), now)
  }
  state.claims.delete(claim.id)
}

function putBack(state: MemoryState, entry: Entry, end: TurnRecord, dueAt: number): void {
  state.endTurn(entry, end)
  state.nextTurn(entry, dueAt)
  state.hint({ kind: 'due', at: dueAt })
}

function cancelNotices(state: MemoryState, own: readonly Claim[]): CancelNotice[] {
  return own.flatMap((claim) =>
    unended(state, claim).flatMap(({ ref, turn, cancel }) => (cancel ? [{ ref, turn, reason: cancel.reason }] : [])),
  )
}

export function rescue(state: MemoryState, request: RescueRequest): RescueAnswer {
  const now = state.now
  const rescued: RescueAnswer['rescued'][number][] = []
  const removed: string[] = []
  let left = request.limit
  let more = false
  for (const { boot, beats } of request.gone) {
    const node = state.nodes.get(boot)
    // After the store's clock was set back a beat may lie ahead of it: then only the observer's clock can tell.
    const isFresh = node && node.beatAt <= now && now - node.beatAt < node.ttlMs
    if (!node || node.beats !== beats || isFresh) continue
    const claims = [...state.claims.values()].filter((claim) => claim.node === boot)
    for (const claim of claims.slice(0, left)) {
      for (const entry of unended(state, claim))
        rescued.push(recover(state, entry, { end: 'lost', node: boot, now, delaysMs: request.delaysMs }))
      state.claims.delete(claim.id)
    }
    if (claims.length > left) more = true
    else if (state.nodes.delete(boot)) removed.push(boot)
    left -= Math.min(left, claims.length)
  }
  for (const entry of state.entries.values()) {
    if (entry.place !== 'claimed' || entry.start?.turn !== entry.turn || entry.start.deadlineAt >= now) continue
    const node = state.claims.get(entry.claim as string)?.node ?? null
    rescued.push(recover(state, entry, { end: 'stale', node, now, delaysMs: request.delaysMs }))
  }
  return { rescued, removed, more, expired: expire(state) }
}

/** Ends what has not started in time, whether or not a node could have run it. */
function expire(state: MemoryState): PassedOccurrence[] {
  const late = [...state.entries.values()].filter(
    (entry) =>
      (entry.place === 'ready' || entry.place === 'waiting') && entry.wait?.reason !== 'stranded' && isExpired(state, entry),
  )
  return late.map((entry) => {
    const { id, tenant, job } = entry.record
    const passed = { state: 'missed', reason: 'not started in time' } as const
    state.endTurn(entry, endOf(entry, passed.state, state.now, { reason: passed.reason }))
    return { id, tenant, job, ...passed }
  })
}

function recover(
  state: MemoryState,
  entry: Entry,
  { end, node, now, delaysMs }: { end: 'lost' | 'stale'; node: string | null; now: number; delaysMs: readonly number[] },
): RescueAnswer['rescued'][number] {
  const { turn, record } = entry
  const answer = (outcome: RescueAnswer['rescued'][number]['outcome']) => ({ id: record.id, job: record.job, turn, outcome })
  const before = recoveries(entry.turns)
  const startedAt = entry.start?.turn === turn ? entry.start.startedAt : null
  if (entry.cancel) {
    state.endTurn(entry, endOf(entry, 'canceled', now, { node, startedAt, reason: entry.cancel.reason }))
    return answer('canceled')
  }
  // From its first recovery on an occurrence's start is recorded, so that one that had not started is not blamed.
  if (end === 'lost' && before > 0 && startedAt === null) {
    putBack(state, entry, endOf(entry, 'released', now, { node }), now)
    return answer('released')
  }
  const delayMs = delaysMs[before]
  if (delayMs === undefined) {
    const message = `It was ${end === 'lost' ? 'lost with its node' : 'over its deadline'} after ${before} recoveries`
    state.endTurn(
      entry,
      endOf(entry, 'dead', now, { node, startedAt, reason: end, error: { message, code: `occurrence.${end}` } }),
    )
    return answer('dead')
  }
  putBack(state, entry, endOf(entry, end, now, { node, startedAt }), now + delayMs)
  return answer(end)
}

export function prune(
  state: MemoryState,
  { endedBefore, keyRetentionMs, limit }: { endedBefore: number; keyRetentionMs: number; limit: number },
): { pruned: number } {
  const now = state.now
  for (const [id, until] of state.tombstones) if (until < now) state.tombstones.delete(id)
  let pruned = 0
  for (const entry of [...state.entries.values()]) {
    if (pruned >= limit) break
    const last = entry.turns.at(-1)
    if (entry.place !== 'ended' || !last || !isEnd(stateOf(entry)) || last.endedAt >= endedBefore) continue
    if (leavesTombstone(entry)) state.tombstones.set(entry.record.id, now + keyRetentionMs)
    state.remove(entry)
    pruned++
  }
  return { pruned }
}

function leavesTombstone({ record }: Entry): boolean {
  return record.source === 'schedule' || record.source === 'recovery' || (record.key !== null && record.unique === 'ever')
}
