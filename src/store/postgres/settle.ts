import { isEnd, stateAfter } from '../../model/lifecycle.ts'
import { settle as settleInLedger } from '../ledger/settle.ts'
import type { ClaimRef, Hint, SettleItem, WriteAnswer } from '../store.ts'
import { column } from './arrays.ts'
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
  const plain = items.filter((item) => plainMember(known, item) !== null)
  const others = items.filter((item) => plainMember(known, item) === null)
  const answers = new Map<SettleItem, WriteAnswer>()
  const hints: Hint[] = []
  if (others.length > 0 || plain.length === 0) {
    // A claim goes with the last of its members.
    const settled = await settleOthers(context, others, plain.length > 0 ? [] : done)
    for (const [at, item] of others.entries()) answers.set(item, settled.answers[at] as WriteAnswer)
    hints.push(...settled.hints)
  }
  if (plain.length > 0) {
    const settled = (await settlePlain(context, known, plain, done)) ?? (await settleOthers(context, plain, done)).answers
    for (const [at, item] of plain.entries()) answers.set(item, settled[at] as WriteAnswer)
  }
  for (const { claim, ref } of items) known.get(claim.id)?.members.delete(ref)
  for (const { id } of done) known.delete(id)
  return { answers: items.map((item) => answers.get(item) as WriteAnswer), hints }
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
  known: KnownClaims,
  items: readonly SettleItem[],
  done: readonly ClaimRef[],
): Promise<readonly WriteAnswer[] | null> {
  const claims = new Map<string, { readonly claim: ClaimRef; readonly at: number }>()
  for (const claim of [...items.map((item) => item.claim), ...done])
    if (!claims.has(claim.id)) claims.set(claim.id, { claim, at: claims.size + 1 })
  const hasAttempts = items.some(({ attempts }) => attempts.length > 0)
  const of = (value: (item: SettleItem) => string | number | null) => column(items.map(value))
  const memberOf = (item: SettleItem) => plainMember(known, item) as KnownMember
  const refs = [...claims.values()]
  try {
    const [row] = await db.all<[ended: number]>(hasAttempts ? endWithAttempts : endPlainly, [
      column(refs.map(({ claim }) => claim.id)),
      column(refs.map(({ claim }) => claim.token)),
      column(done.map(({ id }) => claims.get(id)?.at ?? 0)),
      of(({ claim }) => claims.get(claim.id)?.at ?? 0),
      of(({ ref }) => ref),
      of(({ turn }) => turn),
      of((item) => memberOf(item).series),
      of((item) => memberOf(item).dueAt),
      of(({ end }) => end.end),
      of(({ end }) => end.startedAt),
      of(({ end }) => end.endedAt),
      of(({ end }) => end.attempt),
      of(({ end }) => toJson(end.settings)),
      of(({ end }) => toJson(end.tasks)),
      of(({ end }) => end.reason),
      of(({ end }) => toJson(end.error)),
      of(({ end }) => end.result),
      column(failuresThatCount(items, (item) => memberOf(item).series)),
      ...(hasAttempts ? attemptColumns(items) : []),
    ])
    return row?.[0] === items.length ? items.map(() => 'ok') : null
  } catch (error) {
    if (isDuplicate(error)) return null
    throw error
  }
}

/** The failures after which no success follows, as far as these items tell. */
function failuresThatCount(items: readonly SettleItem[], seriesOf: (item: SettleItem) => number): number[] {
  const counted = new Map<number, number[]>()
  for (const item of items) {
    const { end } = item.end
    if (end === 'completed') counted.delete(seriesOf(item))
    else if (end === 'failed' || end === 'dead') counted.set(seriesOf(item), [...(counted.get(seriesOf(item)) ?? []), item.ref])
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

// held: the claims that stand, locked, so that nobody takes them away meanwhile. The end row is the fence: where there is one
// already, the statement fails and nothing is written.
const endTurns = (withAttempts: boolean) => `WITH held AS MATERIALIZED (
    SELECT k.at, c.id, c.node FROM unnest($1::text[], $2::text[]) WITH ORDINALITY k (id, token, at)
    JOIN punctual.claim c ON c.id = k.id AND c.token = k.token ORDER BY c.id FOR UPDATE OF c),
  ended AS (
    INSERT INTO punctual.turn (ref, turn, series, due_at, "end", node, started_at, ended_at, attempt, settings, tasks, reason, error, result)
    SELECT i.ref, i.turn, i.series, i.due_at, i."end", h.node, i.started_at, i.ended_at, i.attempt, i.settings, i.tasks, i.reason, i.error, i.result
    FROM unnest($4::int[], $5::bigint[], $6::int[], $7::int[], $8::float8[], $9::punctual.turn_end[], $10::float8[], $11::float8[],
      $12::punctual.attempt_state[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[])
      i (claim, ref, turn, series, due_at, "end", started_at, ended_at, attempt, settings, tasks, reason, error, result)
    JOIN held h ON h.at = i.claim
    RETURNING ref, series, "end", started_at),
  ${
    withAttempts
      ? `a AS (
    INSERT INTO punctual.attempt (ref, turn, task, n, state, started_at, ended_at, retry_at, error, result)
    SELECT a.* FROM unnest($19::bigint[], $20::int[], $21::text[], $22::int[], $23::punctual.attempt_state[], $24::float8[], $25::float8[],
      $26::float8[], $27::text[], $28::text[]) a (ref, turn, task, n, state, started_at, ended_at, retry_at, error, result)
    WHERE a.ref IN (SELECT ref FROM ended) ON CONFLICT DO NOTHING),`
      : ''
  }
  d AS (INSERT INTO punctual.dead (series, ref) SELECT series, ref FROM ended WHERE "end" = 'dead'),
  s AS (DELETE FROM punctual.start USING ended e WHERE start.ref = e.ref),
  q AS (DELETE FROM punctual.cancel_request USING ended e WHERE cancel_request.ref = e.ref),
  y AS (
    INSERT INTO punctual.tally (series, running, completed, failed, canceled, skipped, missed, dead, last_run_at, succeeded, failures)
    SELECT series, -count(*), count(*) FILTER (WHERE "end" = 'completed'), count(*) FILTER (WHERE "end" = 'failed'),
      count(*) FILTER (WHERE "end" = 'canceled'), count(*) FILTER (WHERE "end" = 'skipped'), count(*) FILTER (WHERE "end" = 'missed'),
      count(*) FILTER (WHERE "end" = 'dead'), max(started_at), bool_or("end" = 'completed'), count(*) FILTER (WHERE ref = ANY($18::bigint[]))
    FROM ended GROUP BY series),
  x AS (DELETE FROM punctual.claim USING held h WHERE claim.id = h.id AND h.at = ANY($3::int[]))
  SELECT count(*) AS ended FROM ended`

const endPlainly = endTurns(false)
const endWithAttempts = endTurns(true)
