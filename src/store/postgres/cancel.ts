import { isOvertaken } from '../rules/conflict.ts'
import { keyVersionIn } from '../rules/sql/occurrence-row.ts'
import type { CancelAnswer, CancelRequest, Hint } from '../store.ts'
import { auditedOccurrences } from './audit.ts'
import { Changes } from './changes/changes.ts'
import { column } from './connection/arrays.ts'
import { each } from './connection/by-key.ts'
import type { Session } from './connection/session.ts'
import { type Acted, type Context, storeNow } from './context.ts'
import { readState } from './create/conflicts.ts'
import { findOfEntity, findRef, withDescendants } from './find.ts'
import { takeIdle } from './occurrence/take-idle.ts'

interface CancelRow extends CancelAnswer {
  readonly node: string | null
  readonly has_line: boolean
  readonly now: number | string
}

const cancelAll = `WITH canceled AS MATERIALIZED (
    SELECT u.ref, c.* FROM unnest($2::bigint[]) WITH ORDINALITY u (ref, at)
    CROSS JOIN LATERAL punctual.cancel_1(${storeNow}, u.ref, $3::text, true) c ORDER BY u.at)
  SELECT o.id, c.outcome, c.node, (SELECT true FROM punctual.waiting WHERE key IS NOT NULL LIMIT 1) IS NOT NULL AS has_line, ${storeNow} AS now
  FROM canceled c CROSS JOIN ${each('occurrence e', 'e.ref = c.ref')} o ORDER BY o.ref`

/** Ends idle work, and marks running work under the lock of its claim. One that moves meanwhile is looked for again by the server. */
export async function cancel(
  session: Session,
  context: Context,
  { which, reason, audit, children = false, keyVersion }: CancelRequest,
): Promise<Acted<readonly CancelAnswer[]>> {
  const found =
    'entity' in which ? await findOfEntity(session, which) : [await findRef(session, which)].filter((ref) => ref !== null)
  const roots = keyVersion === undefined ? found : await notOvertaken(session, context, found, keyVersion)
  if (roots.length === 0) return { answer: [], hints: [] }
  const refs = children ? await withDescendants(session, roots) : roots
  const rows = await auditedOccurrences(session, context, { audit, refs }, () =>
    session.rows<CancelRow>(cancelAll, [context.now(), column(refs), reason]),
  )
  const hints: Hint[] = rows.flatMap(({ node }) => (node === null ? [] : { kind: 'cancel' as const, node }))
  const [first] = rows
  if (first?.has_line && rows.some(({ outcome }) => outcome === 'canceled')) hints.push({ kind: 'due', at: Number(first.now) })
  return { answer: rows.map(({ id, outcome }) => ({ id, outcome })), hints }
}

/** Those whose key has no higher version. Idle work is locked, so its version stays until the commit. */
async function notOvertaken(session: Session, context: Context, refs: readonly number[], keyVersion: number): Promise<number[]> {
  const current: number[] = []
  for (const ref of refs) {
    await lockIdle(session, context, ref)
    const [row] = await session.rows<{ extra: string | null }>('SELECT extra FROM punctual.occurrence WHERE ref = $1::bigint', [
      ref,
    ])
    if (row && !isOvertaken(keyVersionIn(row.extra), keyVersion)) current.push(ref)
  }
  return current
}

/** Locks idle work by taking it out of its place and putting it back. Work that moves meanwhile is tried again. */
async function lockIdle(session: Session, context: Context, ref: number): Promise<void> {
  for (;;) {
    const [idle] = await takeIdle(context, session, [ref])
    const found = await readState(context, session, ref)
    if (idle && found) {
      const changes = new Changes(found.now)
      changes.putBack(idle, idle.isRetrying, idle.wait)
      await changes.write(session)
      return
    }
    if (found?.state !== 'pending' && found?.state !== 'waiting' && found?.state !== 'retrying') return
  }
}
