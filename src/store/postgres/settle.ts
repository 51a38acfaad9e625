import { bareEnd } from '../../model/turn.ts'
import { goesOn } from '../rules/settle.ts'
import type { ClaimRequest, Hint, SettleAnswer, SettleItem, SettleOptions, WriteAnswer } from '../store.ts'
import { Changes, hasLine } from './changes/changes.ts'
import { answerClaim, type Claimed, type ClaimRow } from './claim/answer.ts'
import { doorClaim, lockDoor } from './claim/door.ts'
import type { LaneStarts } from './claim/lane-starts.ts'
import { type Batch, type EndingMember, ending, over } from './claim/members.ts'
import { checkClaim } from './claim/reclaim.ts'
import { claim, claimPlain } from './claim.ts'
import { column } from './connection/arrays.ts'
import { isDuplicate, isUnmet } from './connection/failure.ts'
import type { Statement } from './connection/session.ts'
import type { Acted, Context } from './context.ts'
import { dueAt, endTurn } from './settle/end-turn.ts'
import { settleOneByOne } from './settle/one-by-one.ts'

/** Ends turns by one statement; where a claim was lost or a cancel stands against another turn, item by item with locks. */
export async function settle(
  context: Context,
  laneStarts: LaneStarts,
  items: readonly SettleItem[],
  options: SettleOptions,
): Promise<Acted<SettleAnswer>> {
  // Within one commit a refused claim undoes the ends.
  if (options.claim && (items.length === 0 || options.claim.pick)) await checkClaim(context.db, options.claim)
  const settled = items.length > 0 ? await settleAtOnce(context, laneStarts, items, options) : null
  const { answers, hints, claimed } = settled ?? (await settleSlowly(context, items, options))
  for (const { member } of items) over(member)
  if (!options.claim) return { answer: { items: answers, claimed: null }, hints }
  const next = claimed ?? (await claim(context, laneStarts, options.claim))
  return { answer: { items: answers, claimed: next.answer }, hints: [...hints, ...next.hints] }
}

interface Outcome {
  readonly answers: readonly WriteAnswer[]
  readonly hints: readonly Hint[]
  /** The claim that was made in the same commit. */
  readonly claimed: Claimed | null
}

async function settleSlowly(context: Context, items: readonly SettleItem[], options: SettleOptions): Promise<Outcome> {
  if (options.claim) await checkClaim(context.db, options.claim)
  const { answers, hints, now, isFull } = await settleOneByOne(context, items, options)
  const isNews = isFull && answers.includes('ok')
  return { answers, hints: isNews ? [...hints, ...(await tellOfRoom(context, now))] : hints, claimed: null }
}

interface SettledRow {
  readonly now: number
  readonly is_ok: boolean
  readonly has_line: boolean
  readonly is_full: boolean
}

/** Null: some item needs care, and nothing was written. */
async function settleAtOnce(
  context: Context,
  laneStarts: LaneStarts,
  items: readonly SettleItem[],
  { done = [], hooksDone = [], claim: next }: SettleOptions,
): Promise<Outcome | null> {
  const moving = items.flatMap((item) => ending(item) ?? [])
  if (moving.length < items.length) return null
  const changes = new Changes(context.now())
  const delays = items.flatMap((item, at) => {
    const { moving: one, batch } = moving[at] as EndingMember
    return endTurn(changes, item, { moving: one, node: batch.node })
  })
  changes.hooksDone(hooksDone)
  const ended = new Map<string, { readonly batch: Batch; count: number }>()
  for (const { batch } of moving) {
    const one = ended.get(batch.id)
    if (one) one.count += 1
    else ended.set(batch.id, { batch, count: 1 })
  }
  const whole = done.filter(({ id }) => ended.get(id)?.batch.left === ended.get(id)?.count)
  // Whether another claim has members left has to be looked up.
  if (whole.length < done.length) return null
  changes.dropClaims(whole.map(({ id }) => id))
  const ride = next && !next.pick ? next : null
  if (ride) await context.names.addKinds(ride.kinds)
  const isAtDoor = changes.releasedKeys.length > 0 || ride?.clusterLimit !== undefined
  const freedKeys = ride && isAtDoor ? changes.takeFreed() : null
  const statement = statementOf(items, changes, ride !== null)
  try {
    const { row, claimed } = ride
      ? await settleAndClaim(context, laneStarts, statement, ride, freedKeys)
      : await alone(context, statement)
    const { now } = row
    context.noteNow(now)
    if (!row.is_ok) return null
    const hints: Hint[] = delays.map((due) => ({ kind: 'due', at: dueAt(due, now) }))
    if (row.has_line && !claimed) hints.push({ kind: 'due', at: now })
    if (row.is_full) hints.push(...(await tellOfRoom(context, now)))
    return { answers: items.map(() => 'ok'), hints, claimed }
  } catch (error) {
    // An end row of the same turn stands, or a claim does not.
    if (isDuplicate(error) || isUnmet(error)) return null
    throw error
  }
}

// held: the claims, locked in order. Nothing is written unless all of them stand, and none with a cancel has a turn that another
// follows: what the statement sees of a request may be older than the lock, but the claim's own row is read anew.
const held = `held AS MATERIALIZED (
    SELECT c.asked AND k.goes_on AS is_barred FROM unnest($2::text[], $3::text[], $4::boolean[]) k (id, token, goes_on)
    CROSS JOIN LATERAL (SELECT asked FROM punctual.claim WHERE id = k.id AND token = k.token FOR UPDATE) c),
  ok AS MATERIALIZED (SELECT count(*) = cardinality($2::text[]) AND NOT coalesce(bool_or(is_barred), false) AS is_ok FROM held)`

// $6: a claim follows in the same transaction, which is undone unless the ends are written.
const selected = `(SELECT now FROM t) AS now, punctual.must_1(is_ok OR NOT $6::boolean) AND is_ok AS is_ok, ${hasLine('$5')} AS has_line,
  (SELECT is_full FROM punctual.door) AS is_full FROM ok`

function statementOf(items: readonly SettleItem[], changes: Changes, isRiding: boolean): Statement {
  const claims = new Map<string, { readonly token: string; goesOn: boolean }>()
  for (const { claim, end } of items) {
    const known = claims.get(claim.id) ?? { token: claim.token, goesOn: false }
    known.goesOn ||= goesOn(end.end)
    claims.set(claim.id, known)
  }
  const sorted = [...claims].sort(([a], [b]) => (a < b ? -1 : 1))
  const values = [
    column(sorted.map(([id]) => id)),
    column(sorted.map(([, { token }]) => token)),
    column(sorted.map(([, one]) => one.goesOn)),
    column(changes.releasedKeys),
    isRiding,
  ]
  return changes.statement(selected, { name: 'settle', with: held, where: '(SELECT is_ok FROM ok)', values })
}

async function alone({ db }: Context, { sql, values }: Statement): Promise<{ row: SettledRow; claimed: null }> {
  const [row] = await db.rows<SettledRow>(sql, values)
  return { row: row as SettledRow, claimed: null }
}

/** Takes the next work in the same commit. The door is locked first, where it is needed: before any claim. */
async function settleAndClaim(
  context: Context,
  laneStarts: LaneStarts,
  { sql, values }: Statement,
  request: ClaimRequest,
  freedKeys: readonly string[] | null,
): Promise<{ row: SettledRow; claimed: Claimed | null }> {
  const { db } = context
  if (freedKeys === null)
    return db.transaction(async (session) => {
      const [[row], claimed] = await Promise.all([
        session.rows<SettledRow>(sql, values),
        claimPlain(context, session, laneStarts, request),
      ])
      return { row: row as SettledRow, claimed }
    })
  const next = doorClaim(context, request, { freedKeys })
  const [, [row], rows] = await db.batch((session) =>
    Promise.all([session.rows(lockDoor), session.rows<SettledRow>(sql, values), session.rows<ClaimRow>(next.sql, next.values)]),
  )
  return { row: row as SettledRow, claimed: await answerClaim(context, db, laneStarts, request, rows) }
}

/** A claim found the cluster's limit reached: this end is news. */
async function tellOfRoom({ db }: Context, now: number): Promise<Hint[]> {
  await db.rows('UPDATE punctual.door SET is_full = false WHERE is_full')
  return [{ kind: 'due', at: now }]
}

/** An end under a claim that does not exist. */
export function settleNothing(): Statement {
  const record = {
    source: 'deferred',
    key: null,
    unique: 'ever',
    priority: 5,
    limits: null,
    startWithinMs: null,
    isHooked: false,
  } as const
  const moving = {
    ref: 0,
    series: 0,
    kind: 0,
    record,
    turn: 1,
    dueAt: 0,
    hasBegun: false,
    granted: 0,
    state: 'running',
    line: null,
  } as const
  const changes = new Changes(0)
  changes.endTurn(moving, { turn: 1, ...bareEnd('completed', 0) })
  changes.dropClaims([''])
  const values = ['{""}', '{""}', '{f}', '{}', false]
  return changes.statement(selected, { name: 'settle', with: held, where: '(SELECT is_ok FROM ok)', values })
}
