import { cancel as cancelInLedger, move as moveInLedger } from '../ledger/settle.ts'
import type { CancelAnswer, CancelRequest, MoveAnswer, MoveRequest } from '../store.ts'
import type { Context } from './context.ts'
import type { Session } from './database.ts'
import { findOfEntity, findRef } from './find.ts'
import { flush } from './flush.ts'
import { Slice } from './slice.ts'

export async function cancel(session: Session, context: Context, request: CancelRequest) {
  const { which } = request
  const slice = await Slice.begin(session, context)
  const answers: readonly CancelAnswer[] =
    'entity' in which
      ? await cancelOfEntity(slice, which, request)
      : await onOne(slice, which, [], (id) => cancelInLedger(slice.ledger, { ...request, which: { id } }))
  await flush(slice)
  return { answers, hints: slice.hints }
}

async function cancelOfEntity(
  slice: Slice,
  which: { tenant: string; job: string; entity: string },
  request: CancelRequest,
): Promise<readonly CancelAnswer[]> {
  await slice.gather(await findOfEntity(slice.session, slice.context, which))
  return cancelInLedger(slice.ledger, request)
}

export async function move(session: Session, context: Context, { which, to }: MoveRequest) {
  const slice = await Slice.begin(session, context)
  const answer = await onOne<MoveAnswer>(slice, which, 'unknown', (id) => moveInLedger(slice.ledger, { which: { id }, to }))
  await flush(slice)
  return { answer, hints: slice.hints }
}

/** Loads the one that is meant and acts on it. */
async function onOne<Answer>(
  slice: Slice,
  which: MoveRequest['which'],
  none: Answer,
  act: (id: string) => Answer,
): Promise<Answer> {
  const ref = await findRef(slice.session, slice.context, which)
  if (ref === null) return none
  await slice.gather([ref])
  const entry = slice.ledger.entries.get(ref)
  return entry ? act(entry.record.id) : none
}
