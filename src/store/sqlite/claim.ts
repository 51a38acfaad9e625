import { PunctualError } from '../../errors.ts'
import { bareEnd } from '../../model/turn.ts'
import { fromJson } from '../rows/json.ts'
import type { ClaimAnswer, ClaimRequest, PassedOccurrence } from '../store.ts'
import { findClaim, insertClaim, type KnownClaims, unended } from './claims.ts'
import { type DueRow, inOrder, nextDue, nextDueLater } from './due.ts'
import { endTurn } from './ending.ts'
import { Judge, type Verdict } from './judge.ts'
import { keysOf, passOn } from './keys.ts'
import { describe, readRow } from './members.ts'
import { Pauses } from './pauses.ts'
import { picked } from './pick.ts'
import { type Member, makeWait, takeOut, wakeTimely } from './place.ts'
import type { Transaction } from './transaction.ts'

/** How many rows one claim may wake, hold back or pass over: the next one goes on from there. */
const mostMoved = 1000

export function claim(tx: Transaction, known: KnownClaims, request: ClaimRequest): ClaimAnswer {
  const { now } = tx
  const { kinds, clusterLimit } = request
  const standing = findClaim(tx, known, request.id)
  if (standing && (standing.token !== request.token || standing.node !== request.node)) {
    throw new PunctualError('claim.lost', `Claim ${request.id} belongs to another`, { claim: request.id })
  }
  const left = clusterLimit === undefined ? Number.POSITIVE_INFINITY : clusterLimit - running(tx)
  // At the cluster's limit nothing can be claimed before something ends, so that no due instant is worth waking for.
  const next = (more: number) => (more >= left ? null : request.pick ? nextDueLater(tx, kinds) : nextDue(tx, kinds))
  if (standing) {
    const rows = unended(tx, standing).map((member) => readRow(tx, member))
    return { now, members: describe(tx, rows, true), passed: [], nextDue: next(0) }
  }
  const { taken, passed, isCut } = take(tx, known, request, Math.min(request.limit, left))
  return { now, members: describe(tx, taken), passed, nextDue: isCut && taken.length < left ? now : next(taken.length) }
}

/** How many run in the whole cluster: read only under such a limit, since an index for it would cost every claim. */
function running(tx: Transaction): number {
  return (tx.one<[number]>('SELECT coalesce(sum(running), 0) FROM punctual_series') as [number])[0]
}

interface Taken {
  readonly taken: readonly DueRow[]
  readonly passed: readonly PassedOccurrence[]
  /** Whether there may be more to move. */
  readonly isCut: boolean
}

function take(
  tx: Transaction,
  known: KnownClaims,
  { id, token, node, kinds, pick, dueBy = tx.now }: ClaimRequest,
  room: number,
): Taken {
  const { isKnown, wakeAt, revision } = look(tx, node)
  if (!isKnown) throw new PunctualError('claim.lost', `Node ${node} is not known to the store and cannot claim`, { node })
  if (wakeAt !== null && wakeAt <= tx.now) wakeTimely(tx, mostMoved)
  const judge = new Judge(tx, Pauses.of(tx, revision))
  const members = new Map<number, Member>()
  const taken: DueRow[] = []
  const passed: PassedOccurrence[] = []
  let moved = 0
  const until = Math.min(tx.now, dueBy)
  const due = pick ? picked(tx, kinds, until, pick) : inOrder(tx, kinds, until, () => room - taken.length)
  if (room > 0) {
    for (const row of due) {
      const member = memberOf(row)
      const verdict = judge.verdict(row)
      if (verdict === 'run') {
        takeOut(tx, 'ready', member)
        tx.tally(member.series, stateOf(row), 'running')
        members.set(member.ref, member)
        taken.push(row)
      } else {
        moved++
        putAside(tx, row, member, verdict, passed)
      }
      if (taken.length >= room || moved >= mostMoved) break
    }
  }
  const isCut = moved >= mostMoved
  if (taken.length === 0) return { taken, passed, isCut }
  const claim = { id, token, node, members, ended: new Set<number>() }
  insertClaim(tx, claim)
  known.add(claim)
  return { taken, passed, isCut }
}

/** What a claim has to know first, in one statement: whether the node has joined, when something wakes, and what is paused. */
function look(tx: Transaction, node: string): { isKnown: boolean; wakeAt: number | null; revision: number } {
  const [known, wakeAt, revision, lanes] = tx.one<[number | null, number | null, number, number]>(
    `SELECT (SELECT 1 FROM punctual_node WHERE boot = ?),
      (SELECT wake_at FROM punctual_waiting WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1),
      (SELECT value FROM punctual_meta WHERE name = 'pause_revision'), (SELECT value FROM punctual_meta WHERE name = 'lanes')`,
    node,
  ) as [number | null, number | null, number, number]
  tx.noteLanes(lanes)
  tx.hasWakes = wakeAt !== null
  return { isKnown: known !== null, wakeAt, revision }
}

// Taking a row apart by its places is several times as fast as by a pattern, and this is done for every row.
function memberOf(row: DueRow): Member {
  return {
    ref: row[0],
    series: row[2],
    kind: row[3],
    priority: row[11],
    turn: row[20],
    dueAt: row[19],
    firstDueAt: row[16],
    liveKey: row[7] === 'live' ? row[6] : null,
    isPlanned: false,
    startWithinMs: null,
    hasHolds: row[12] !== null,
  }
}

function stateOf(row: DueRow): 'retrying' | 'pending' {
  return row[21] ? 'retrying' : 'pending'
}

/** Holds back or ends what may not run. */
function putAside(
  tx: Transaction,
  row: DueRow,
  member: Member,
  verdict: Exclude<Verdict, 'run'>,
  passed: PassedOccurrence[],
): void {
  const { series, ref } = member
  if (!('state' in verdict)) {
    makeWait(tx, [series, ref, row[21]], verdict)
    if (member.hasHolds) passOn(tx, fromJson(row[12]), [...keysOf(tx, ref), verdict.key])
    return
  }
  const { state, reason } = verdict
  const { tenant, job } = tx.dictionary.seriesByRef(series)
  takeOut(tx, 'ready', member)
  endTurn(tx, member, bareEnd(state, tx.now, { reason }), stateOf(row))
  passed.push({ id: row[1], tenant, job, state, reason })
}
