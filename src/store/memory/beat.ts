import type { TurnRecord } from '../../model/occurrence.ts'
import { pulseBeat, unknownBeat } from '../rules/node.ts'
import { nextTurnDue } from '../rules/settle.ts'
import { isStranded } from '../rules/verdict.ts'
import type { Beat, BeatAnswer, CancelNotice, NodeRecord } from '../store.ts'
import { unended } from './claim.ts'
import type { Entry } from './entry.ts'
import { planSoon } from './plan.ts'
import { jobKey } from './runs.ts'
import type { Claim, State } from './state.ts'

export function beat(state: State, one: Beat): BeatAnswer {
  const { node, claims, inFlight, long, phase } = one
  const { now } = state
  const known = state.nodes.get(node.boot)
  if (!known && phase !== 'join') return unknownBeat(one, now, state.aliveSince)
  if (known && phase === 'pulse') {
    state.lastAliveAt = now
    state.putNode({ ...known, beatAt: now, beats: known.beats + 1 })
    return pulseBeat(now, state.aliveSince, known.isDraining)
  }
  const isAlive = [...state.nodes.values()].some((other) => other.beatAt + other.ttlMs >= now)
  if (!isAlive) noteBreak(state, now)
  const own = [...state.claims.values()].filter((claim) => claim.node === node.boot)
  for (const claim of own) if (!claims.includes(claim.id) && !inFlight.includes(claim.id)) release(state, claim)
  const over: { ref: number; turn: number }[] = []
  for (const { ref, turn, startedAt, deadlineAt } of long) {
    const entry = state.entries.get(ref)
    if (entry?.place === 'claimed' && entry.turn === turn) entry.start = { turn, startedAt, deadlineAt }
    else over.push({ ref, turn })
  }
  const lost = claims.filter((id) => state.claims.get(id)?.node !== node.boot)
  const running = own.reduce((sum, claim) => sum + unended(state, claim).length, 0)
  const isDraining = node.isDraining || known?.isDraining === true
  const count = { startedAt: known?.startedAt ?? now, beatAt: now, beats: (known?.beats ?? 0) + 1, running }
  const record: NodeRecord = { ...node, isDraining, ...count }
  state.lastAliveAt = now
  if (phase === 'leave' && running === 0) state.removeNode(node.boot)
  else state.putNode(record)
  return { now, aliveSince: state.aliveSince, known: true, lost, cancels: cancelNotices(state, own), isDraining, over }
}

/** No node was there until now: planned work that came due meanwhile waits for the planner. */
function noteBreak(state: State, now: number): void {
  state.aliveSince = now
  for (const entry of [...state.entries.values()]) {
    const { record, dueAt, hasBegun, place } = entry
    if (place !== 'ready' || !isStranded({ source: record.source, hasBegun, dueAt }, state.lastAliveAt, now)) continue
    state.setAside(entry, { reason: 'stranded', key: null, wakeAt: null })
    planSoon(state, jobKey(record.tenant, record.job))
  }
}

/** A claim whose answer never reached its node: nothing of it was started. */
function release(state: State, claim: Claim): void {
  for (const entry of unended(state, claim)) giveBack(state, entry, { node: claim.node })
  state.claims.delete(claim.id)
}

/** Ends the turn of running work in the place of its node, and puts it back for its next one. */
export function giveBack(state: State, entry: Entry, end: Pick<TurnRecord, 'node'> & Partial<TurnRecord>): void {
  const { now } = state
  if (entry.cancel) {
    state.endTurn(entry, entry.endRow('canceled', now, { ...end, reason: entry.cancel.reason }))
    if (entry.record.isHooked) state.noteHook(entry)
    return
  }
  const row = entry.endRow('released', now, end)
  const dueAt = nextTurnDue({ end: row, delayMs: 0 }, entry, now)
  state.endTurn(entry, row)
  state.nextTurn(entry, row, dueAt)
  state.hint({ kind: 'due', at: dueAt })
}

function cancelNotices(state: State, own: readonly Claim[]): CancelNotice[] {
  return own.flatMap((claim) =>
    unended(state, claim).flatMap(({ ref, turn, cancel }) => (cancel ? [{ ref, turn, reason: cancel.reason }] : [])),
  )
}
