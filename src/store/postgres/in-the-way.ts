// New occurrences whose id or key is taken.
import { isEnd } from '../../model/lifecycle.ts'
import { stateOf } from '../ledger/ledger.ts'
import { create as createInLedger } from '../ledger/plan.ts'
import type { CreateAnswer, Hint, NewOccurrence } from '../store.ts'
import { column } from './arrays.ts'
import { each } from './by-key.ts'
import type { Context } from './context.ts'
import type { Session } from './database.ts'
import { flush } from './flush.ts'
import { Slice } from './slice.ts'

interface Resolved {
  readonly answers: ReadonlyMap<NewOccurrence, CreateAnswer>
  readonly hints: readonly Hint[]
}

type InTheWay = [at: number, id: string | null, payload: string | null, ref: number | null, isTombstoned: boolean]

/** What stands in the way of those that could not be made, and what they do about it. */
export async function resolve(
  context: Context,
  session: Session,
  rows: readonly NewOccurrence[],
  isOwn: boolean,
): Promise<Resolved> {
  const { dictionary } = context
  const found = await session.all<InTheWay>(inTheWay, [
    column(rows.map(({ id }) => id)),
    column(rows.map(({ tenant, job }) => dictionary.series(tenant, job).ref)),
    column(rows.map(({ unique, key }) => (unique === 'live' ? key : null))),
  ])
  const answers = new Map<NewOccurrence, CreateAnswer>()
  const toMove: { row: NewOccurrence; ref: number }[] = []
  for (const [at, id, payload, ref, isTombstoned] of found) {
    const row = rows[Number(at) - 1] as NewOccurrence
    if (id === null || ref === null) {
      if (isTombstoned) answers.set(row, { id: row.id, outcome: 'tombstoned', differs: false })
      else if (row.unique === 'live') await dropOrphan(context, session, row)
    } else if (row.onConflict === 'keep') {
      answers.set(row, { id, outcome: 'existing', differs: payload !== row.payload })
    } else toMove.push({ row, ref: Number(ref) })
  }
  if (toMove.length === 0) return { answers, hints: [] }
  const slice = await Slice.begin(session, context)
  await slice.gather(toMove.map(({ ref }) => ref))
  const { ledger } = slice
  // One that has ended meanwhile has left its key to others.
  const isInTheWay = ({ row: { id }, ref }: (typeof toMove)[number]) => {
    const entry = ledger.entries.get(ref)
    return entry !== undefined && (entry.record.id === id || !isEnd(stateOf(entry)))
  }
  const movable = toMove.filter(isInTheWay).map(({ row }) => row)
  for (const [at, answer] of createInLedger(slice.ledger, movable).entries()) answers.set(movable[at] as NewOccurrence, answer)
  await context.dictionary.needKinds(
    [...slice.ledger.entries.values()].map(({ record }) => ({ kind: record.kind, priority: record.priority })),
    isOwn,
  )
  await flush(slice)
  return { answers, hints: slice.hints }
}

const inTheWay = `SELECT n.at, o.id, o.payload, o.ref, x.id IS NOT NULL AS is_tombstoned
  FROM unnest($1::uuid[], $2::int[], $3::text[]) WITH ORDINALITY n (id, series, key, at)
  LEFT JOIN ${each('live_key', 'series = n.series AND key = n.key')} l ON true
  LEFT JOIN ${each('tombstone', 'id = n.id')} x ON true
  LEFT JOIN ${each('occurrence', 'id = n.id', { columns: 'ref' })} y ON true
  LEFT JOIN ${each('occurrence', 'ref = coalesce(y.ref, l.ref)')} o ON true`

/** A key without its occurrence is left when the same call came in twice at the same moment. */
async function dropOrphan({ dictionary }: Context, session: Session, { tenant, job, key }: NewOccurrence): Promise<void> {
  await session.all(
    `DELETE FROM punctual.live_key l WHERE l.series = $1::int AND l.key = $2::text
      AND NOT EXISTS (SELECT 1 FROM punctual.occurrence o WHERE o.ref = l.ref)`,
    [dictionary.series(tenant, job).ref, key],
  )
}
