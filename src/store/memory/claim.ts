import { PunctualError } from '../../errors.ts'
import { type JobSpec, versionAt } from '../../model/job.ts'
import type { OccurrenceRecord, WaitRecord } from '../../model/occurrence.ts'
import { isPausedAt, type PauseRecord } from '../../model/pause.ts'
import { recoveries } from '../../model/turn.ts'
import type { ClaimAnswer, ClaimMember, ClaimPick, ClaimRequest, PassedOccurrence } from '../store.ts'
import { acquire } from './holds.ts'
import { picked } from './pick.ts'
import { type Claim, type Entry, endOf, jobKey, type MemoryState } from './state.ts'

export function claim(state: MemoryState, request: ClaimRequest): ClaimAnswer {
  const { now } = state
  const standing = state.claims.get(request.id)
  if (standing && (standing.token !== request.token || standing.node !== request.node)) {
    throw new PunctualError('claim.lost', `Claim ${request.id} belongs to another`, { claim: request.id })
  }
  if (standing) return answer(state, request, unended(state, standing), [])
  const { taken, passed } = take(state, request, Math.min(now, request.dueBy ?? now))
  return answer(state, request, taken, passed)
}

function answer(
  state: MemoryState,
  { kinds, clusterLimit, pick }: ClaimRequest,
  entries: readonly Entry[],
  passed: readonly PassedOccurrence[],
): ClaimAnswer {
  // At the cluster's limit nothing can be claimed before something ends, so that no due instant is worth waking for.
  const isFull = clusterLimit !== undefined && running(state) >= clusterLimit
  return {
    now: state.now,
    members: entries.map((entry) => member(state, entry)),
    passed,
    nextDue: isFull ? null : nextDue(state, kinds, pick),
  }
}

function take(
  state: MemoryState,
  { id, token, node, kinds, limit, clusterLimit = Number.POSITIVE_INFINITY, pick }: ClaimRequest,
  dueBy: number,
) {
  if (!state.nodes.has(node))
    throw new PunctualError('claim.lost', `Node ${node} is not known to the store and cannot claim`, { node })
  for (const entry of [...state.waiting])
    if (entry.wait?.wakeAt != null && entry.wait.wakeAt <= state.now) state.makeReady(entry, entry.dueAt)
  const room = Math.min(limit, clusterLimit - running(state))
  const taken: Entry[] = []
  const passed: PassedOccurrence[] = []
  for (const entry of candidates(state, kinds, dueBy, pick)) {
    if (taken.length >= room) break
    if (entry.place !== 'ready') continue
    const verdict = judge(state, entry)
    if (verdict === 'run') {
      state.leaveReady(entry, 'claimed')
      entry.claim = id
      taken.push(entry)
    } else if ('state' in verdict) {
      state.endTurn(entry, endOf(entry, verdict.state, state.now, { reason: verdict.reason }))
      passed.push({ id: entry.record.id, tenant: entry.record.tenant, job: entry.record.job, ...verdict })
    } else {
      state.makeWait(entry, verdict)
    }
  }
  if (taken.length > 0) state.claims.set(id, { id, token, node, refs: taken.map((entry) => entry.ref) })
  return { taken, passed }
}

/** What is due, as it is to be tried. What is freed meanwhile comes up too, unless `pick` has fixed the order before. */
function* candidates(
  state: MemoryState,
  kinds: readonly string[],
  dueBy: number,
  pick: ClaimPick | undefined,
): Generator<Entry, void, undefined> {
  if (pick) return yield* picked(state.ready.due(kinds, dueBy), pick)
  for (let entry = state.ready.first(kinds, dueBy); entry; entry = state.ready.first(kinds, dueBy)) yield entry
}

/** What becomes of an entry that is due: it runs, waits, or is passed over. */
function judge(state: MemoryState, entry: Entry): 'run' | WaitRecord | Pick<PassedOccurrence, 'state' | 'reason'> {
  const { record, turn } = entry
  if (isExpired(state, entry)) return { state: 'missed', reason: 'not started in time' }
  const isPlanned = record.source === 'schedule' || record.source === 'recovery'
  if (turn === 1 && isPlanned && pauseAt(state, entry, record.scheduledAt)) return { state: 'skipped', reason: 'paused' }
  const pause = pauseAt(state, entry, state.now)
  if (pause) return { reason: 'pause', key: null, wakeAt: pause.to }
  const grant = acquire(state, entry, state.now)
  if (grant.granted) return 'run'
  return 'wait' in grant ? grant.wait : { state: 'skipped', reason: `overlap: ${grant.skip}` }
}

/** Whether it should have been started by now and never was. */
export function isExpired(state: MemoryState, { record, turn, dueAt }: Entry): boolean {
  return turn === 1 && record.startWithinMs !== null && state.now > dueAt + record.startWithinMs
}

function pauseAt(state: MemoryState, { record }: Entry, at: number): PauseRecord | undefined {
  return state.pauses.find((pause) => isPausedAt(pause, record.tenant, record.job, at))
}

function running(state: MemoryState): number {
  let count = 0
  for (const claim of state.claims.values()) count += unended(state, claim).length
  return count
}

/** When something of these kinds is due, or is looked at again by itself. */
export function nextDue(state: MemoryState, kinds: readonly string[], pick?: ClaimPick): number | null {
  let next = pick ? state.ready.nextDueAfter(kinds, state.now) : state.ready.nextDue(kinds)
  for (const { wait, record } of state.waiting) if (kinds.includes(record.kind)) next = earliest(next, wait?.wakeAt ?? null)
  return next
}

function earliest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}

export function unended(state: MemoryState, { id, refs }: Claim): Entry[] {
  return refs.map((ref) => state.entries.get(ref)).filter((entry) => entry !== undefined && entry.claim === id) as Entry[]
}

function member(state: MemoryState, entry: Entry): ClaimMember {
  const { ref, turn, record, dueAt, turns, attempts } = entry
  const key = jobKey(record.tenant, record.job)
  return {
    ref,
    turn,
    record,
    dueAt,
    recoveries: recoveries(turns),
    jobSettings: specOf(state, record)?.settings ?? null,
    lastRunAt: state.lastRuns.get(key) ?? null,
    turns: [...turns],
    attempts: [...attempts],
  }
}

/** What the job says for this occurrence: a planned one keeps the version of its instant, enqueued work goes by what is in force. */
function specOf(state: MemoryState, { tenant, job, version, source }: OccurrenceRecord): JobSpec | undefined {
  const versions = state.versions.get(jobKey(tenant, job))
  if (!versions) return undefined
  const isPlanned = source === 'schedule' || source === 'recovery' || source === 'backfill'
  return (isPlanned ? versions.find((one) => one.version === version) : versionAt(versions, state.now))?.spec
}
