import type { JobSpec } from '../../model/job.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import { recoveries } from '../../model/turn.ts'
import { admit } from '../rules/door.ts'
import { foreignClaim, unknownNode } from '../rules/node.ts'
import { picked } from '../rules/pick.ts'
import { specFor } from '../rules/verdict.ts'
import type { ClaimAnswer, ClaimMember, ClaimPick, ClaimRequest, PassedOccurrence } from '../store.ts'
import { MemoryDoor } from './claim/door.ts'
import type { Entry } from './entry.ts'
import { nextDue, nextDueAfter } from './peek.ts'
import { jobKey } from './runs.ts'
import type { Claim, State } from './state.ts'

export function claim(state: State, request: ClaimRequest): ClaimAnswer {
  const { id, token, node } = request
  checkClaim(state, request)
  const standing = state.claims.get(id)
  if (standing) return answer(state, request, unended(state, standing), [])
  const { taken, passed } = take(state, request)
  if (taken.length > 0) state.claims.set(id, { id, token, node, refs: taken.map((entry) => entry.ref) })
  return answer(state, request, taken, passed)
}

/** Refuses a claim. Verbs that claim along the way call it first, since they change nothing when they fail. */
function checkClaim(state: State, { id, token, node }: ClaimRequest): void {
  const standing = state.claims.get(id)
  if (standing && (standing.token !== token || standing.node !== node)) throw foreignClaim({ id })
  if (!standing && !state.nodes.has(node)) throw unknownNode({ node })
}

function take(state: State, { id, kinds, pick, limit, clusterLimit, dueBy, promptMs }: ClaimRequest) {
  const until = Math.min(state.now, dueBy ?? state.now)
  const room = Math.min(limit, (clusterLimit ?? Number.POSITIVE_INFINITY) - state.running)
  const taken: Entry[] = []
  const door = new MemoryDoor(state, until)
  wakePaused(state)
  admit(door)
  for (const entry of candidates(state, kinds, until, pick)) {
    if (taken.length >= room) break
    const verdict = door.verdict(entry)
    if (verdict) door.pass(entry, verdict)
    else {
      state.makeClaimed(entry, id)
      taken.push(entry)
    }
  }
  for (const entry of taken) state.countRates(entry, promptMs)
  // Work let in that this node has no room for, or cannot run, is another's to take.
  if (door.granted.some(({ place }) => place === 'ready')) state.hint({ kind: 'due', at: state.now })
  return { taken, passed: door.passed }
}

/** Lets work go on whose pause has ended by itself. */
function wakePaused(state: State): void {
  for (const entry of [...state.aside])
    if (entry.wait?.wakeAt != null && entry.wait.wakeAt <= state.now) state.makeReady(entry, entry.dueAt)
}

function candidates(state: State, kinds: readonly string[], until: number, pick: ClaimPick | undefined): Iterable<Entry> {
  return pick ? picked(state.ready.due(kinds, until), pick) : inOrder(state, kinds, until)
}

function* inOrder(state: State, kinds: readonly string[], until: number): Generator<Entry, void, undefined> {
  for (let entry = state.ready.first(kinds, until); entry; entry = state.ready.first(kinds, until)) yield entry
}

function answer(
  state: State,
  { kinds, clusterLimit, pick }: ClaimRequest,
  entries: readonly Entry[],
  passed: readonly PassedOccurrence[],
): ClaimAnswer {
  // At the cluster's limit nothing can be claimed before something ends, so no due instant is worth waking for.
  const isFull = clusterLimit !== undefined && state.running >= clusterLimit
  if (isFull) state.isClusterFull = true
  return {
    now: state.now,
    members: entries.map((entry) => member(state, entry)),
    passed,
    nextDue: isFull ? null : pick ? nextDueAfter(state, kinds) : nextDue(state, kinds),
  }
}

/** Writes, and claims in the same commit if the request has a claim. Sends hints of due work only if the claim has left some. */
export function writeAndClaim<Answer>(
  state: State,
  request: ClaimRequest | undefined,
  write: () => Answer,
): readonly [Answer, ClaimAnswer | null] {
  if (!request) return [write(), null]
  checkClaim(state, request)
  return state.hints.holding(() => {
    const answer = write()
    const claimed = claim(state, request)
    const isWorkLeft = claimed.nextDue !== null && claimed.nextDue <= state.now
    return { answer: [answer, claimed] as const, isWorkLeft }
  })
}

export function unended(state: State, { id, refs }: Claim): Entry[] {
  return refs.map((ref) => state.entries.get(ref)).filter((entry) => entry !== undefined && entry.claim === id) as Entry[]
}

function member(state: State, entry: Entry): ClaimMember {
  const { ref, turn, record, dueAt, turns, attempts } = entry
  return {
    ref,
    turn,
    record,
    dueAt,
    recoveries: recoveries(turns),
    jobSettings: specOf(state, record)?.settings ?? null,
    lastRunAt: state.runs.lastOf(record),
    turns: [...turns],
    attempts: [...attempts],
  }
}

export function specOf(state: State, record: OccurrenceRecord): JobSpec | undefined {
  return specFor(state.versions.get(jobKey(record.tenant, record.job)), record, state.now)
}
