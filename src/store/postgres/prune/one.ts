import { isEnd, type OccurrenceState } from '../../../model/lifecycle.ts'
import { bareEnd } from '../../../model/turn.ts'
import { occurrenceAudit } from '../../rules/audit.ts'
import type { PruneAnswer, PruneRequest, Which } from '../../store.ts'
import { appendAudit, occurrencesOf } from '../audit.ts'
import { Changes } from '../changes/changes.ts'
import type { Session } from '../connection/session.ts'
import { type Context, readNow } from '../context.ts'
import { findRef } from '../find.ts'
import { takeDead } from '../move.ts'
import { removeEnded } from './remove-ended.ts'

/** Ends dead work, as canceled. */
export async function endDead(context: Context, session: Session, ref: number): Promise<void> {
  const dead = await takeDead(context, session, ref)
  const now = await readNow(session, context)
  const changes = new Changes(now)
  if (dead) changes.endIdle(dead, { turn: dead.turn, ...bareEnd('canceled', now) })
  await changes.write(session)
}

/** Deletes one record that is no longer needed by anyone. */
export async function pruneOnly(context: Context, which: Which, { keyRetentionMs, audit }: PruneRequest): Promise<PruneAnswer> {
  return context.db.transaction(async (session): Promise<PruneAnswer> => {
    const ref = await findRef(session, which)
    const known = ref === null ? undefined : (await occurrencesOf(session, [ref])).get(ref)
    if (ref === null || !known) return { pruned: 0, more: false, outcome: 'unknown' }
    if (known.state === 'dead') await endDead(context, session, ref)
    else if (!isEnd(known.state as OccurrenceState)) return { pruned: 0, more: false, outcome: 'live' }
    await appendAudit(session, context, [occurrenceAudit(audit, known, null)])
    const pruned = await removeEnded(session, context, [ref], keyRetentionMs)
    return { pruned, more: false, outcome: pruned > 0 ? 'deleted' : 'unknown' }
  })
}
