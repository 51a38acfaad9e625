import { isEnd, stateAfter } from '../../model/lifecycle.ts'
import { settle as settleInLedger } from '../ledger/settle.ts'
import type { ClaimRef, Hint, SettleItem, WriteAnswer } from '../store.ts'
import { bare, column } from './arrays.ts'
import type { Context } from './context.ts'
import { isDuplicate } from './failure.ts'
import { flush } from './flush.ts'
import type { KnownClaims, KnownMember } from './known-claims.ts'
import { toJson } from './records.ts'
import { Slice } from './slice.ts'

export interface Settled {
  readonly answers: readonly WriteAnswer[]
  readonly hints: readonly Hint[]
}

/** Ends turns: those that need no more than their end row in one statement, the others with their keys and places locked. */
export async function settle(
  context: Context,
  known: KnownClaims,
  items: readonly SettleItem[],
  done: readonly ClaimRef[],
): Promise<Settled> {
  const members = items.map((item) => plainMember(known, item))
  const settled = members.every((member) => member !== null)
    ? await settleAlike(context, items, members, done)
    : await settleMixed(context, items, members, done)
  for (const { claim, ref } of items) known.get(claim.id)?.members.delete(ref)
  for (const { id } of done) known.delete(id)
  return settled
}

async function settleMixed(
  context: Context,
  items: readonly SettleItem[],
  members: readonly (KnownMember | null)[],
  done: readonly ClaimRef[],
): Promise<Settled> {
  const plain = items.filter((_, at) => members[at])
  const others = items.filter((_, at) => !members[at])
  // A claim goes with the last of its members.
  const first = await settleOthers(context, others, plain.length > 0 ? [] : done)
  if (plain.length === 0) return first
  const rest = await settleAlike(
    context,
    plain,
    members.filter((member) => member !== null),
    done,
  )
  const answers = new Map<SettleItem, WriteAnswer>()
  for (const [at, item] of others.entries()) answers.set(item, first.answers[at] as WriteAnswer)
  for (const [at, item] of plain.entries()) answers.set(item, rest.answers[at] as WriteAnswer)
  return { answers: items.map((item) => answers.get(item) as WriteAnswer), hints: [...first.hints, ...rest.hints] }
}

/** Those that need no more than their end row, unless it turns out that some do. */
async function settleAlike(
  context: Context,
  items: readonly SettleItem[],
  members: readonly KnownMember[],
  done: readonly ClaimRef[],
): Promise<Settled> {
  if (items.length === 0) return settleOthers(context, items, done)
  const answers = await settlePlain(context, items, members, done)
  return answers ? { answers, hints: [] } : settleOthers(context, items, done)
}

/** What is known of a member whose end is all that is to be written, and that this end is its last. */
function plainMember(known: KnownClaims, { claim, ref, turn, end }: SettleItem): KnownMember | null {
  const state = stateAfter[end.end]
  if (!isEnd(state) && state !== 'dead') return null
  const made = known.get(claim.id)
  const member = made?.token === claim.token ? made.members.get(ref) : undefined
  return member?.isPlain && member.turn === turn ? member : null
}

async function settleOthers(context: Context, items: readonly SettleItem[], done: readonly ClaimRef[]): Promise<Settled> {
  return context.db.transaction(async (session) => {
    const slice = await Slice.begin(session, context)
    const claims = [...new Set([...items.map(({ claim }) => claim.id), ...done.map(({ id }) => id)])].sort()
    await slice.gather([...new Set(items.map(({ ref }) => ref))], { claims })
    const answers = settleInLedger(slice.ledger, items, done)
    await flush(slice)
    return { answers, hints: slice.hints }
  })
}

/**
 * One row for each turn and nothing looked up before. Null: some have an end row already or have lost their claim, which is rare
 * enough to do all of it once more with care.
 */
async function settlePlain(
  { db }: Context,
  items: readonly SettleItem[],
  members: readonly KnownMember[],
  done: readonly ClaimRef[],
): Promise<readonly WriteAnswer[] | null> {
  const claims = new Map<string, ClaimRef>()
  for (const { claim } of items) claims.set(claim.id, claim)
  for (const claim of done) claims.set(claim.id, claim)
  // Locked in this order, so that two who settle the same claims do not block each other.
  const refs = [...claims.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  const places = new Map(refs.map(({ id }, at) => [id, at + 1]))
  const hasAttempts = items.some(({ attempts }) => attempts.length > 0)
  const manner = { hasAttempts, isBare: !hasAttempts && areBare(items, members) }
  try {
    const [row] = await db.all<[ended: number]>(endText(manner), [
      column(refs.map(({ id }) => id)),
      column(refs.map(({ token }) => token)),
      column(done.map(({ id }) => places.get(id) ?? 0)),
      bare(items.map(({ claim }) => places.get(claim.id) ?? 0)),
      bare(items.map(({ ref }) => ref)),
      bare(items.map(({ turn }) => turn)),
      bare(members.map(({ series }) => series)),
      ...(manner.isBare ? bareColumns(items, members) : endColumns(items, members)),
      ...(hasAttempts ? attemptColumns(items) : []),
    ])
    return row?.[0] === items.length ? items.map(() => 'ok') : null
  } catch (error) {
    if (isDuplicate(error)) return null
    throw error
  }
}

/** What most ends are like: all succeeded, and there is nothing to say of any of them. */
function areBare(items: readonly SettleItem[], members: readonly KnownMember[]): boolean {
  return (
    items.every(
      ({ end }) =>
        end.end === 'completed' &&
        end.attempt === 'succeeded' &&
        Number.isInteger(end.startedAt) &&
        Number.isInteger(end.endedAt) &&
        end.result === null &&
        end.settings === null &&
        end.tasks === null &&
        end.reason === null &&
        end.error === null,
    ) && members.every(({ dueAt }) => Number.isInteger(dueAt))
  )
}

/** Times as distances from one of them: short numbers are quicker to write and to read. */
function bareColumns(items: readonly SettleItem[], members: readonly KnownMember[]): (string | number | null)[] {
  const from = items[0]?.end.endedAt ?? 0
  return [
    from,
    bare(members.map(({ dueAt }) => dueAt - from)),
    bare(items.map(({ end }) => (end.startedAt as number) - from)),
    bare(items.map(({ end }) => end.endedAt - from)),
  ]
}

function endColumns(items: readonly SettleItem[], members: readonly KnownMember[]): (string | null)[] {
  const of = (value: (end: SettleItem['end']) => string | number | null) => column(items.map(({ end }) => value(end)))
  return [
    column(members.map(({ dueAt }) => dueAt)),
    of(({ end }) => end),
    of(({ startedAt }) => startedAt),
    of(({ endedAt }) => endedAt),
    of(({ attempt }) => attempt),
    of(({ settings }) => toJson(settings)),
    of(({ tasks }) => toJson(tasks)),
    of(({ reason }) => reason),
    of(({ error }) => toJson(error)),
    of(({ result }) => result),
    column(failuresThatCount(items, members)),
  ]
}

/** The failures after which no success follows, as far as these items tell. */
function failuresThatCount(items: readonly SettleItem[], members: readonly KnownMember[]): number[] {
  const counted = new Map<number, number[]>()
  for (const [at, { ref, end }] of items.entries()) {
    const { series } = members[at] as KnownMember
    if (end.end === 'completed') counted.delete(series)
    else if (end.end === 'failed' || end.end === 'dead') counted.set(series, [...(counted.get(series) ?? []), ref])
  }
  return [...counted.values()].flat()
}

function attemptColumns(items: readonly SettleItem[]): (string | null)[] {
  const attempts = items.flatMap(({ ref, attempts: own }) => own.map((attempt) => ({ ref, ...attempt })))
  const of = (value: (attempt: (typeof attempts)[number]) => string | number | null) => column(attempts.map(value))
  return [
    of(({ ref }) => ref),
    of(({ turn }) => turn),
    of(({ task }) => task),
    of(({ n }) => n),
    of(({ state }) => state),
    of(({ startedAt }) => startedAt),
    of(({ endedAt }) => endedAt),
    of(({ retryAt }) => retryAt),
    of(({ error }) => toJson(error)),
    of(({ result }) => result),
  ]
}

interface Manner {
  readonly hasAttempts: boolean
  readonly isBare: boolean
}

const bareRows = `SELECT i.ref, i.turn, i.series, $8::float8 + i.due_at, 'completed'::punctual.turn_end, h.node, $8::float8 + i.started_at,
      $8::float8 + i.ended_at, 'succeeded'::punctual.attempt_state
    FROM unnest($4::int[], $5::bigint[], $6::int[], $7::int[], $9::bigint[], $10::bigint[], $11::bigint[])
      i (claim, ref, turn, series, due_at, started_at, ended_at)`

const rows = `SELECT i.ref, i.turn, i.series, i.due_at, i."end", h.node, i.started_at, i.ended_at, i.attempt, i.settings, i.tasks, i.reason,
      i.error, i.result
    FROM unnest($4::int[], $5::bigint[], $6::int[], $7::int[], $8::float8[], $9::punctual.turn_end[], $10::float8[], $11::float8[],
      $12::punctual.attempt_state[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[])
      i (claim, ref, turn, series, due_at, "end", started_at, ended_at, attempt, settings, tasks, reason, error, result)`

const attempts = `a AS (
    INSERT INTO punctual.attempt (ref, turn, task, n, state, started_at, ended_at, retry_at, error, result)
    SELECT a.* FROM unnest($19::bigint[], $20::int[], $21::text[], $22::int[], $23::punctual.attempt_state[], $24::float8[], $25::float8[],
      $26::float8[], $27::text[], $28::text[]) a (ref, turn, task, n, state, started_at, ended_at, retry_at, error, result)
    WHERE a.ref IN (SELECT ref FROM ended) ON CONFLICT DO NOTHING),`

const ends = ['completed', 'failed', 'canceled', 'skipped', 'missed', 'dead']

/** What the counts are to be changed by. */
const tally = (isBare: boolean) => {
  const many = (end: string) => `count(*) FILTER (WHERE "end" = '${end}')`
  return isBare
    ? `INSERT INTO punctual.tally (series, running, completed, last_run_at, succeeded)
    SELECT series, -count(*), count(*), max(started_at), true FROM ended GROUP BY series`
    : `INSERT INTO punctual.tally (series, running, ${ends.join(', ')}, last_run_at, succeeded, failures)
    SELECT series, -count(*), ${ends.map(many).join(', ')}, max(started_at), bool_or("end" = 'completed'),
      count(*) FILTER (WHERE ref = ANY($18::bigint[]))
    FROM ended GROUP BY series`
}

// held: the claims that stand, locked, so that nobody takes them away meanwhile. The end row is the fence: where there is one
// already, the statement fails and nothing is written.
const endTurns = ({ hasAttempts, isBare }: Manner) => `WITH held AS MATERIALIZED (
    SELECT k.at, c.id, c.node FROM unnest($1::text[], $2::text[]) WITH ORDINALITY k (id, token, at)
    CROSS JOIN LATERAL (SELECT id, node FROM punctual.claim WHERE id = k.id AND token = k.token OFFSET 0 FOR UPDATE) c),
  ended AS (
    INSERT INTO punctual.turn (ref, turn, series, due_at, "end", node, started_at, ended_at, attempt${isBare ? '' : ', settings, tasks, reason, error, result'})
    ${isBare ? bareRows : rows}
    JOIN held h ON h.at = i.claim
    RETURNING ref, series, "end", started_at),
  ${hasAttempts ? attempts : ''}
  ${isBare ? '' : `d AS (INSERT INTO punctual.dead (series, ref) SELECT series, ref FROM ended WHERE "end" = 'dead'),`}
  s AS (DELETE FROM punctual.start WHERE ref = ANY(ARRAY(SELECT ref FROM ended WHERE EXISTS (SELECT 1 FROM punctual.start)))),
  q AS (
    DELETE FROM punctual.cancel_request
    WHERE ref = ANY(ARRAY(SELECT ref FROM ended WHERE EXISTS (SELECT 1 FROM punctual.cancel_request)))),
  y AS (${tally(isBare)}),
  x AS (DELETE FROM punctual.claim WHERE id = ANY(ARRAY(SELECT id FROM held WHERE at = ANY($3::int[]))))
  SELECT count(*) AS ended FROM ended`

const bareEnds = endTurns({ hasAttempts: false, isBare: true })
const plainEnds = endTurns({ hasAttempts: false, isBare: false })
const triedEnds = endTurns({ hasAttempts: true, isBare: false })

function endText({ hasAttempts, isBare }: Manner): string {
  return isBare ? bareEnds : hasAttempts ? triedEnds : plainEnds
}
