import { admit } from '../rules/door.ts'
import { foreignClaim, unknownNode } from '../rules/node.ts'
import type { ClaimAnswer, ClaimRequest, PassedOccurrence } from '../store.ts'
import { type ClaimRow, findClaim, insertClaim, running, unended } from './claim/claim-row.ts'
import { SqliteDoor } from './claim/door.ts'
import { dueEntries, inClaimOrder } from './claim/due-entries.ts'
import { describe } from './claim/members.ts'
import { pickEntries } from './claim/pick.ts'
import type { Transaction } from './connection/transaction.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'
import { makeReady } from './occurrence/live-tables.ts'
import { allPauses } from './pause.ts'
import { nextDue, nextDueAfter } from './peek.ts'

/** How many rows one claim may wake or pass over: the next one goes on from there. */
const mostMoved = 1000

export function claim(tx: Transaction, request: ClaimRequest): ClaimAnswer {
  const { id, token, node, clusterLimit } = request
  const state = look(tx, request)
  const standing = state.isClaimed ? findClaim(tx, id) : null
  if (standing && (standing.token !== token || standing.node !== node)) throw foreignClaim(request)
  if (standing) return answer(tx, request, { taken: read(tx, standing), isRepeat: true, left: roomOf(tx, clusterLimit) })
  if (!state.isKnown) throw unknownNode(request)
  const left = roomOf(tx, clusterLimit)
  const { taken, passed, isCut } = take(tx, request, state, Math.min(request.limit, left))
  if (taken.length > 0) insertClaim(tx, { id, token, node }, taken)
  return answer(tx, request, { taken, passed, isCut, left: left - taken.length })
}

/** Claims in the commit of a write, if there is a request. Hints at due work of that write are kept only if the claim has left some. */
export function claimAfter(tx: Transaction, request: ClaimRequest | undefined): ClaimAnswer | null {
  if (!request) return null
  const written = tx.hints.splice(0)
  const claimed = claim(tx, request)
  const isWorkLeft = claimed.nextDue !== null && claimed.nextDue <= tx.now
  tx.hints.push(...written.filter((hint) => isWorkLeft || hint.kind !== 'due' || hint.at > tx.now))
  return claimed
}

/** How many more may run in the whole cluster. */
function roomOf(tx: Transaction, clusterLimit: number | undefined): number {
  return clusterLimit === undefined ? Number.POSITIVE_INFINITY : clusterLimit - running(tx).length
}

function read(tx: Transaction, claim: ClaimRow): Entry[] {
  return unended(tx, claim).map(({ ref }) => readEntry(tx, ref) as Entry)
}

interface Claimed {
  readonly taken: readonly Entry[]
  readonly passed?: readonly PassedOccurrence[]
  /** The claim was made before. */
  readonly isRepeat?: boolean
  /** There may be more to claim or to move at once. */
  readonly isCut?: boolean
  /** The number of occurrences that may still start in the whole cluster. */
  readonly left: number
}

function answer(
  tx: Transaction,
  { id, kinds, pick }: ClaimRequest,
  { taken, passed = [], isRepeat, isCut, left }: Claimed,
): ClaimAnswer {
  // At the cluster's limit nothing can be claimed before something ends, so no due instant is worth waking for.
  const isFull = left <= 0
  if (isFull) tx.isClusterFull = true
  const next = () => (isCut ? tx.now : pick ? nextDueAfter(tx, kinds) : nextDue(tx, kinds))
  return { now: tx.now, members: describe(tx, id, taken, isRepeat), passed, nextDue: isFull ? null : next() }
}

interface Look {
  /** The node is known. */
  readonly isKnown: boolean
  /** The claim was made before. */
  readonly isClaimed: boolean
  /** Something may be at the door. */
  readonly hasArrivals: boolean
  readonly hasReleases: boolean
  readonly wakeAt: number | null
}

const selectLook = `SELECT EXISTS (SELECT 1 FROM punctual_node WHERE boot = ?1) AS known,
  EXISTS (SELECT 1 FROM punctual_claim WHERE id = ?3) AS claimed,
  EXISTS (SELECT 1 FROM punctual_arrival) AS arrivals, EXISTS (SELECT 1 FROM punctual_release WHERE free_at <= ?2) AS releases,
  (SELECT wake_at FROM punctual_aside WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1) AS wake_at`

/** Reads all that a claim needs first in one statement. */
function look(tx: Transaction, { id, node }: ClaimRequest): Look {
  const row = tx.one<{ known: number; claimed: number; arrivals: number; releases: number; wake_at: number | null }>(
    selectLook,
    node,
    tx.now,
    id,
  )
  return {
    isKnown: row?.known === 1,
    isClaimed: row?.claimed === 1,
    hasArrivals: row?.arrivals === 1,
    hasReleases: row?.releases === 1 || tx.releases.length > 0,
    wakeAt: row?.wake_at ?? null,
  }
}

function take(tx: Transaction, { kinds, pick, dueBy = tx.now, promptMs }: ClaimRequest, state: Look, room: number) {
  const until = Math.min(tx.now, dueBy)
  const door = new SqliteDoor(tx, until, allPauses(tx))
  const woken = state.wakeAt !== null && state.wakeAt <= tx.now ? wakePaused(tx) : 0
  if (state.hasArrivals || state.hasReleases || woken > 0) admit(door)
  const taken: Entry[] = []
  let isCut = woken === mostMoved
  let moved = 0
  const decide = (entry: Entry) => {
    const verdict = door.verdict(entry)
    if (verdict) {
      door.pass(entry, verdict)
      moved += 1
    } else {
      door.claim(entry, promptMs)
      taken.push(entry)
    }
  }
  const hasRoom = () => taken.length < room && moved < mostMoved
  if (pick && room > 0) {
    door.writeGranted()
    const picked = pickEntries(tx, { kinds, until, room }, pick)
    for (const entry of picked.entries) if (hasRoom()) decide(entry)
    isCut ||= taken.length < room && picked.isCut()
  }
  while (!pick && hasRoom()) {
    const limit = room - taken.length
    const page = nextPage(tx, door, { kinds, until, limit })
    for (const entry of page) if (hasRoom()) decide(entry)
    if (page.length < limit) break
  }
  door.finish()
  return { taken, passed: door.passed, isCut: isCut || moved >= mostMoved }
}

/** The next of what is ready and of what was just let in. Work behind a full page of ready work is for the page after it. */
function nextPage(
  tx: Transaction,
  door: SqliteDoor,
  { kinds, until, limit }: { kinds: readonly string[]; until: number; limit: number },
): Entry[] {
  const ready = dueEntries(tx, kinds, until, limit)
  const granted = door.grantedOf(kinds)
  if (granted.length === 0) return ready
  const last = ready.length === limit ? ready.at(-1) : undefined
  const isNext = (entry: Entry) => last === undefined || inClaimOrder(entry, last) < 0
  return [...ready, ...granted.filter(isNext)].sort(inClaimOrder)
}

/** Lets work go on whose pause has ended by itself. */
function wakePaused(tx: Transaction): number {
  const rows = tx.all<{ ref: number }>(
    'SELECT ref FROM punctual_aside WHERE wake_at <= ? ORDER BY wake_at LIMIT ? + 0',
    tx.now,
    mostMoved,
  )
  for (const { ref } of rows) {
    const entry = readEntry(tx, ref) as Entry
    makeReady(tx, entry, entry.dueAt)
  }
  return rows.length
}
