// Which kinds some node serves. It changes only with the door locked, so the doorman can go by it.
import type { Hint } from '../../store.ts'
import { column } from '../connection/arrays.ts'
import type { Session } from '../connection/session.ts'
import type { Context } from '../context.ts'
import { takeGrantsBack } from '../occurrence/take-idle.ts'

/** Brings the flags of kinds up to date with the nodes. */
export async function updateServedKinds(session: Session): Promise<void> {
  await session.rows(
    `UPDATE punctual.kind k SET served = n.served FROM (
        SELECT i.ref, EXISTS (SELECT 1 FROM punctual.node o WHERE i.ref = ANY(o.kind_refs)) AS served FROM punctual.kind i) n
      WHERE n.ref = k.ref AND k.served <> n.served`,
  )
}

/** The same after a node is gone: keys of work that no node serves any more are free for others. */
export async function freeUnservedKeys(context: Context, session: Session, now: number): Promise<readonly Hint[]> {
  await updateServedKinds(session)
  const unserved = await session.rows<{ ref: number }>('SELECT ref FROM punctual.kind WHERE NOT served')
  if (unserved.length === 0) return []
  const where = 'p.granted > 0 AND p.kind = ANY($1::int[])'
  const isLine = await takeGrantsBack(context, session, now, where, [column(unserved.map(({ ref }) => ref))])
  return isLine ? [{ kind: 'due', at: now }] : []
}
