// Claims in which more than due times and priorities decide: limits, pauses, picks, a limit of the whole cluster, or a claim that
// was made before and is asked for again. The keys of what is due are locked before its rows.
import { PunctualError } from '../../errors.ts'
import { member, take, unended } from '../ledger/claim.ts'
import { type Entry, jobKey } from '../ledger/ledger.ts'
import type { ClaimAnswer, ClaimRequest, PassedOccurrence } from '../store.ts'
import { column } from './arrays.ts'
import { candidates, layLanes } from './candidates.ts'
import type { Claimed } from './claim.ts'
import { type Context, storeNow } from './context.ts'
import type { Session } from './database.ts'
import { nextDue, nextDueLater } from './due.ts'
import { flush } from './flush.ts'
import type { KnownClaims } from './known-claims.ts'
import { moveToReady } from './places.ts'
import { Slice } from './slice.ts'
import { isLimited } from './write-places.ts'

/** How many rows one claim may wake, hold back or pass over: the next one goes on from there. */
const mostMoved = 1000
/** When to come back for what was left because another transaction had it, or its keys: most take no longer. */
const comeBackMs = 25
/** Who limits how much runs in the whole cluster waits for this key. */
const clusterKey = '["cluster"]'
/** Who picks looks at more than it takes: two at once would leave each other what the other has looked at. */
const pickKey = '["pick"]'

/** What a look that took nothing has found out. */
export interface Looked {
  /** The claim was made before. */
  readonly stands: boolean
  /** The time has come for some that wait. */
  readonly isWaking: boolean
}

export async function claimLimited(
  context: Context,
  known: KnownClaims,
  request: ClaimRequest,
  { stands, isWaking }: Looked = { stands: true, isWaking: true },
): Promise<Claimed> {
  const { db, dictionary } = context
  await dictionary.lookUpBoots(db, [request.node])
  if (request.pick) await layLanes(context, request.kinds)
  if (isWaking) await wakeTimely(context, request)
  const { answer, hints, members } = await db.transaction((session) => claimIn(session, context, request, stands))
  known.add({
    id: request.id,
    token: request.token,
    members: new Map(
      members.map((entry) => [
        entry.ref,
        {
          turn: entry.turn,
          series: dictionary.series(entry.record.tenant, entry.record.job).ref,
          dueAt: entry.dueAt,
          isPlain: !isLimited(entry) && (entry.record.unique !== 'live' || entry.record.key === null),
        },
      ]),
    ),
  })
  return { answer, hints }
}

/**
 * Lets those try again whose time has come. It is a commit of its own: who holds one of their keys may be waiting for their rows,
 * so that they must not be locked while the claim waits for keys.
 */
async function wakeTimely({ db, dictionary, now, isCompat }: Context, { id, node }: ClaimRequest): Promise<void> {
  await moveToReady(
    db,
    `${isCompat ? '(series, ref) IN (SELECT series, ref' : 'ctid = ANY(ARRAY(SELECT ctid'} FROM punctual.waiting
        WHERE wake_at <= ${storeNow} ORDER BY wake_at LIMIT ${mostMoved} ${isCompat ? ')' : 'FOR UPDATE SKIP LOCKED))'}
      AND EXISTS (SELECT 1 FROM punctual.node WHERE boot = $2::int) AND NOT EXISTS (SELECT 1 FROM punctual.claim WHERE id = $3)`,
    [now(), dictionary.boot(node) ?? null, id],
  )
}

type Taken = Claimed & { readonly members: readonly Entry[] }

/** @param mayStand Whether the claim may have been made before. Two that are made under one id at once cannot both be written. */
async function claimIn(session: Session, context: Context, request: ClaimRequest, mayStand: boolean): Promise<Taken> {
  const { clusterLimit, kinds } = request
  const [slice, isJoined] = await Promise.all([Slice.begin(session, context), lockNode(session, context, request.node)])
  await slice.countOnPauses()
  const { now, ledger } = slice
  if (clusterLimit !== undefined) await slice.keys.lock(clusterKey)
  if (request.pick) await slice.keys.lock(pickKey)
  const left = clusterLimit === undefined ? Number.POSITIVE_INFINITY : clusterLimit - (await runningIn(session))
  const standing = mayStand ? await findStanding(slice, request) : null
  const isRepeat = standing !== null
  if (!isRepeat && !isJoined)
    throw new PunctualError('claim.lost', `Node ${request.node} is not known to the store and cannot claim`, {
      node: request.node,
    })
  const { members, passed, isCut, isBusy } = isRepeat
    ? { members: standing, passed: [], isCut: false, isBusy: false }
    : await takeDue(slice, request, Math.min(request.limit, left))
  const refs = context.dictionary.kindRefs(kinds)
  // At the cluster's limit nothing can be claimed before something ends, so that no due instant is worth waking for.
  const isFull = (isRepeat ? 0 : members.length) >= left
  await Promise.all([describe(slice, members), flush(slice)])
  const nextLook = async () => {
    const next = await (request.pick || isBusy ? nextDueLater : nextDue)(session, context, refs, now)
    return isBusy ? Math.min(now + comeBackMs, next ?? Number.POSITIVE_INFINITY) : next
  }
  const next = isFull ? null : isCut ? now : await nextLook()
  const answer: ClaimAnswer = { now, members: members.map((entry) => member(ledger, entry)), passed, nextDue: next }
  return { answer, hints: slice.hints, members }
}

/** Whether the node is there; it is not declared gone before the claim has ended. */
async function lockNode(session: Session, { dictionary }: Context, name: string): Promise<boolean> {
  const boot = dictionary.boot(name)
  if (boot === undefined) return false
  return (await session.all('SELECT boot FROM punctual.node WHERE boot = $1 FOR KEY SHARE', [boot])).length > 0
}

/** How many run in the whole cluster. */
async function runningIn(session: Session): Promise<number> {
  const [row] = await session.all<[number]>(
    `SELECT coalesce((SELECT sum(running) FROM punctual.series), 0) + coalesce((SELECT sum(running) FROM punctual.tally), 0) AS running`,
  )
  return Number(row?.[0])
}

/** The members of the claim that are left, when it was made before. */
async function findStanding(slice: Slice, { id, token, node }: ClaimRequest): Promise<readonly Entry[] | null> {
  const { ledger, session } = slice
  const members = await session.all<[number]>('SELECT unnest(refs) AS ref FROM punctual.claim WHERE id = $1', [id])
  await slice.gather(
    members.map(([ref]) => ref),
    { claims: [id], withAttempts: true },
  )
  const claim = ledger.claims.get(id)
  if (!claim) return null
  if (claim.token !== token || claim.node !== node)
    throw new PunctualError('claim.lost', `Claim ${id} belongs to another`, { claim: id })
  return unended(ledger, claim)
}

interface Take {
  readonly members: readonly Entry[]
  readonly passed: readonly PassedOccurrence[]
  /** Whether there may be more to move. */
  readonly isCut: boolean
  /** Whether something was left that others had locked. */
  readonly isBusy: boolean
}

async function takeDue(slice: Slice, request: ClaimRequest, room: number): Promise<Take> {
  const { ledger, now } = slice
  const { id, token, node } = request
  const dueBy = Math.min(now, request.dueBy ?? now)
  const members: Entry[] = []
  const passed: PassedOccurrence[] = []
  const seen: number[] = []
  let isMore = room > 0
  let isBusy = false
  while (isMore && members.length < room && seen.length < members.length + mostMoved) {
    const want = room - members.length
    const page = await candidates(slice, request, { dueBy, limit: want, seen })
    seen.push(...page.refs)
    isMore = page.isMore
    isBusy ||= page.isBusy
    const found = take(ledger, request, { dueBy, room: want })
    members.push(...found.taken)
    passed.push(...found.passed)
  }
  if (members.length > 0) ledger.claims.set(id, { id, token, node, refs: members.map(({ ref }) => ref) })
  return { members, passed, isCut: isMore && members.length < room, isBusy }
}

/** Reads what the jobs of the members say, and when they last ran. */
async function describe(slice: Slice, members: readonly Entry[]): Promise<void> {
  const { context, session, ledger } = slice
  const series = [...new Set(members.map(({ record }) => context.dictionary.series(record.tenant, record.job).ref))]
  if (series.length === 0) return
  const [, rows] = await Promise.all([
    slice.loadVersions(series),
    session.all<[number, number | null]>(
      `SELECT s.ref, greatest(s.last_run_at, (SELECT max(y.last_run_at) FROM punctual.tally y WHERE y.series = s.ref AND y.last_run_at IS NOT NULL)) AS at
      FROM punctual.series s WHERE s.ref = ANY($1::int[])`,
      [column(series)],
    ),
  ])
  ledger.lastRuns.clear()
  for (const [ref, at] of rows) {
    const { tenant, job } = context.dictionary.seriesByRef(ref)
    if (at !== null) ledger.lastRuns.set(jobKey(tenant, job), at)
  }
}
