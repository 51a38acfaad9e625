import { isEnd, stateAfter } from '../../model/lifecycle.ts'
import { settle as settleInLedger } from '../ledger/settle.ts'
import type { ClaimRef, Hint, SettleItem, WriteAnswer } from '../store.ts'
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
      ? await settlePlain(context, items, members, done)
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
  const rest = await settlePlain(
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
async function settlePlain(
  context: Context,
  items: readonly SettleItem[],
  members: readonly KnownMember[],
  done: readonly ClaimRef[],
): Promise<Settled> {
  const areEnded = await endTurns(context.db, items, members, done)
  return areEnded ? { answers: items.map(() => 'ok'), hints: [] } : settleOthers(context, items, done)
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
