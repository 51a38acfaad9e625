import { isEnd, stateAfter } from '../../model/lifecycle.ts'
import { settle as settleInLedger } from '../ledger/settle.ts'
import type { ClaimRef, Hint, SettleItem, WriteAnswer } from '../store.ts'
import { column } from './arrays.ts'
import { each, endOf, has, lacks } from './by-key.ts'
import type { Context } from './context.ts'
import { endTurns } from './end-turns.ts'
import { flush } from './flush.ts'
import type { KnownClaims, KnownMember } from './known-claims.ts'
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
  const settled =
    items.length > 0 && members.every((member) => member !== null)
      ? await settlePlain(context, known, items, members, done)
      : await settleMixed(context, known, items, members, done)
  forget(known, items)
  for (const { id } of done) known.delete(id)
  return settled
}

function forget(known: KnownClaims, items: readonly SettleItem[]): void {
  for (const { claim, ref } of items) known.get(claim.id)?.members.delete(ref)
}

async function settleMixed(
  context: Context,
  known: KnownClaims,
  items: readonly SettleItem[],
  members: readonly (KnownMember | null)[],
  done: readonly ClaimRef[],
): Promise<Settled> {
  const plain = items.filter((_, at) => members[at])
  const others = items.filter((_, at) => !members[at])
  // A claim goes with the last of its members.
  const first = await settleOthers(context, others, plain.length > 0 ? [] : done)
  if (plain.length === 0) return first
  forget(known, others)
  const rest = await settlePlain(
    context,
    known,
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
async function settlePlain(
  context: Context,
  known: KnownClaims,
  items: readonly SettleItem[],
  members: readonly KnownMember[],
  done: readonly ClaimRef[],
): Promise<Settled> {
  const { whole, others } = byWhole(known, items, done)
  if (!(await endTurns(context.db, items, members, whole))) return settleOthers(context, items, done)
  if (others.length > 0) await settleOthers(context, [], others)
  return { answers: items.map(() => 'ok'), hints: [] }
}

/** The claims all of whose members that were left are among the items, as far as is known here; of the others that has to be looked up. */
function byWhole(
  known: KnownClaims,
  items: readonly SettleItem[],
  done: readonly ClaimRef[],
): Record<'whole' | 'others', ClaimRef[]> {
  const counts = new Map<string, number>()
  for (const { claim } of items) counts.set(claim.id, (counts.get(claim.id) ?? 0) + 1)
  const isWhole = ({ id }: ClaimRef) => known.get(id)?.members.size === (counts.get(id) ?? 0)
  return { whole: done.filter(isWhole), others: done.filter((claim) => !isWhole(claim)) }
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
    const standing = await withOthersLeft(slice, done)
    const answers = settleInLedger(
      slice.ledger,
      items,
      done.filter(({ id }) => !standing.has(id)),
    )
    await flush(slice)
    return { answers, hints: slice.hints }
  })
}

/** Those of the claims that have members beside those in the slice whose turns have not ended. */
async function withOthersLeft(slice: Slice, claims: readonly ClaimRef[]): Promise<ReadonlySet<string>> {
  const isMore = ({ id }: ClaimRef) => slice.ledger.claims.get(id)?.refs.some((ref) => !slice.before.has(ref))
  const ids = claims.filter(isMore).map(({ id }) => id)
  if (ids.length === 0) return new Set()
  const rows = await slice.session.all<[string]>(
    `SELECT c.id FROM unnest($1::text[]) k (id) CROSS JOIN ${each('claim', 'id = k.id')} c
      WHERE EXISTS (SELECT 1 FROM unnest(c.refs, c.turns) m (ref, turn)
        WHERE NOT m.ref = ANY($2::bigint[]) AND ${lacks('turn', endOf('m'))} AND ${has('occurrence', 'ref = m.ref')})`,
    [column(ids), column([...slice.before.keys()])],
  )
  return new Set(rows.map(([id]) => id))
}
