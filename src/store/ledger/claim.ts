import { PunctualError } from '../../errors.ts'
import { type JobSpec, versionAt } from '../../model/job.ts'
import type { OccurrenceRecord, WaitRecord } from '../../model/occurrence.ts'
import { isPausedAt, type PauseRecord } from '../../model/pause.ts'
import { recoveries } from '../../model/turn.ts'
import type { ClaimAnswer, ClaimMember, ClaimPick, ClaimRequest, PassedOccurrence } from '../store.ts'
import { acquire } from './holds.ts'
import { type Claim, type Entry, endOf, jobKey, type Ledger } from './ledger.ts'
import { picked } from './pick.ts'

export function claim(ledger: Ledger, request: ClaimRequest): ClaimAnswer {
  const { now } = ledger
  const standing = ledger.claims.get(request.id)
  if (standing && (standing.token !== request.token || standing.node !== request.node)) {
    throw new PunctualError('claim.lost', `Claim ${request.id} belongs to another`, { claim: request.id })
  }
  if (standing) return answer(ledger, request, unended(ledger, standing), [])
  const { id, token, node, dueBy = now, limit, clusterLimit = Number.POSITIVE_INFINITY } = request
  if (!ledger.nodes.has(node))
    throw new PunctualError('claim.lost', `Node ${node} is not known to the store and cannot claim`, { node })
  wakeTimely(ledger)
  const room = Math.min(limit, clusterLimit - running(ledger))
  const { taken, passed } = take(ledger, request, { dueBy: Math.min(now, dueBy), room })
  if (taken.length > 0) ledger.claims.set(id, { id, token, node, refs: taken.map((entry) => entry.ref) })
  return answer(ledger, request, taken, passed)
}

function answer(
  ledger: Ledger,
  { kinds, clusterLimit, pick }: ClaimRequest,
  entries: readonly Entry[],
  passed: readonly PassedOccurrence[],
): ClaimAnswer {
  // At the cluster's limit nothing can be claimed before something ends, so that no due instant is worth waking for.
  const isFull = clusterLimit !== undefined && running(ledger) >= clusterLimit
  return {
    now: ledger.now,
    members: entries.map((entry) => member(ledger, entry)),
    passed,
    nextDue: isFull ? null : nextDue(ledger, kinds, pick),
  }
}

/** Lets those try again whose time has come. */
function wakeTimely(ledger: Ledger): void {
  for (const entry of [...ledger.waiting])
    if (entry.wait?.wakeAt != null && entry.wait.wakeAt <= ledger.now) ledger.makeReady(entry, entry.dueAt)
}

/** Takes what is due and may run, for the claim `id`, and holds back or passes over what may not. */
export function take(
  ledger: Ledger,
  { id, kinds, pick }: Pick<ClaimRequest, 'id' | 'kinds' | 'pick'>,
  { dueBy, room }: { readonly dueBy: number; readonly room: number },
): { readonly taken: readonly Entry[]; readonly passed: readonly PassedOccurrence[] } {
  const taken: Entry[] = []
  const passed: PassedOccurrence[] = []
  for (const entry of candidates(ledger, kinds, dueBy, pick)) {
    if (taken.length >= room) break
    if (entry.place !== 'ready') continue
    const verdict = judge(ledger, entry)
    if (verdict === 'run') {
      ledger.leaveReady(entry, 'claimed')
      entry.claim = id
      taken.push(entry)
    } else if ('state' in verdict) {
      ledger.endTurn(entry, endOf(entry, verdict.state, ledger.now, { reason: verdict.reason }))
      passed.push({ id: entry.record.id, tenant: entry.record.tenant, job: entry.record.job, ...verdict })
    } else {
      ledger.makeWait(entry, verdict)
    }
  }
  return { taken, passed }
}

/** What is due, as it is to be tried. What is freed meanwhile comes up too, unless `pick` has fixed the order before. */
function* candidates(
  ledger: Ledger,
  kinds: readonly string[],
  dueBy: number,
  pick: ClaimPick | undefined,
): Generator<Entry, void, undefined> {
  if (pick) return yield* picked(ledger.ready.due(kinds, dueBy), pick)
  for (let entry = ledger.ready.first(kinds, dueBy); entry; entry = ledger.ready.first(kinds, dueBy)) yield entry
}

/** What becomes of an entry that is due: it runs, waits, or is passed over. */
function judge(ledger: Ledger, entry: Entry): 'run' | WaitRecord | Pick<PassedOccurrence, 'state' | 'reason'> {
  const { record, turn } = entry
  if (isExpired(ledger, entry)) return { state: 'missed', reason: 'not started in time' }
  const isPlanned = record.source === 'schedule' || record.source === 'recovery'
  if (turn === 1 && isPlanned && pauseAt(ledger, entry, record.scheduledAt)) return { state: 'skipped', reason: 'paused' }
  const pause = pauseAt(ledger, entry, ledger.now)
  if (pause) return { reason: 'pause', key: null, wakeAt: pause.to }
  const grant = acquire(ledger, entry, ledger.now)
  if (grant.granted) return 'run'
  return 'wait' in grant ? grant.wait : { state: 'skipped', reason: `overlap: ${grant.skip}` }
}

/** Whether it should have been started by now and never was. */
export function isExpired(ledger: Ledger, { record, turn, dueAt }: Entry): boolean {
  return turn === 1 && record.startWithinMs !== null && ledger.now > dueAt + record.startWithinMs
}

function pauseAt(ledger: Ledger, { record }: Entry, at: number): PauseRecord | undefined {
  return ledger.pauses.find((pause) => isPausedAt(pause, record.tenant, record.job, at))
}

function running(ledger: Ledger): number {
  let count = ledger.unseenRunning
  for (const claim of ledger.claims.values()) count += unended(ledger, claim).length
  return count
}

/** When something of these kinds is due, or is looked at again by itself. */
export function nextDue(ledger: Ledger, kinds: readonly string[], pick?: ClaimPick): number | null {
  let next = pick ? ledger.ready.nextDueAfter(kinds, ledger.now) : ledger.ready.nextDue(kinds)
  for (const { wait, record } of ledger.waiting) if (kinds.includes(record.kind)) next = earliest(next, wait?.wakeAt ?? null)
  return next
}

function earliest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}

export function unended(ledger: Ledger, { id, refs }: Claim): Entry[] {
  return refs.map((ref) => ledger.entries.get(ref)).filter((entry) => entry !== undefined && entry.claim === id) as Entry[]
}

/** What the claimer must know of a member. */
export function member(ledger: Ledger, entry: Entry): ClaimMember {
  const { ref, turn, record, dueAt, turns, attempts } = entry
  const key = jobKey(record.tenant, record.job)
  return {
    ref,
    turn,
    record,
    dueAt,
    recoveries: recoveries(turns),
    jobSettings: specOf(ledger, record)?.settings ?? null,
    lastRunAt: ledger.lastRuns.get(key) ?? null,
    turns: [...turns],
    attempts: [...attempts],
  }
}

/** What the job says for this occurrence: a planned one keeps the version of its instant, enqueued work goes by what is in force. */
function specOf(ledger: Ledger, { tenant, job, version, source }: OccurrenceRecord): JobSpec | undefined {
  const versions = ledger.versions.get(jobKey(tenant, job))
  if (!versions) return undefined
  const isPlanned = source === 'schedule' || source === 'recovery' || source === 'backfill'
  return (isPlanned ? versions.find((one) => one.version === version) : versionAt(versions, ledger.now))?.spec
}
