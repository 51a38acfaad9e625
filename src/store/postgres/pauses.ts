import type { PauseRecord } from '../../model/pause.ts'
import { pauseColumns } from '../rows/pause-row.ts'
import type { Hint, PauseAnswer, PauseRequest } from '../store.ts'
import { type Context, storeNow } from './context.ts'
import type { Session } from './database.ts'
import { readPauses } from './facts.ts'
import { moveToReady } from './places.ts'

export async function pause(context: Context, { tenant, job, open }: PauseRequest) {
  return context.db.transaction(async (session): Promise<{ answer: PauseAnswer; hints: readonly Hint[] }> => {
    // Plans hold this row while they count on the pauses they know.
    await session.all('SELECT pause_revision FROM punctual.meta FOR UPDATE')
    const [row] = await session.all<[number]>(`SELECT ${storeNow} AS now`, [context.now()])
    const [now] = row as [number]
    const all = await readPauses(session)
    const current = all.find((one) => one.tenant === tenant && one.job === job && (one.to === null || one.to > now))
    if (!open && !current) return { answer: { outcome: 'unchanged', pause: null }, hints: [] }
    const wanted = open
      ? { to: untilOf(open.until, now), reason: open.reason, by: open.by }
      : { to: now, reason: current?.reason ?? null, by: current?.by ?? null }
    if (current && current.to === wanted.to && current.reason === wanted.reason && current.by === wanted.by)
      return { answer: { outcome: 'unchanged', pause: current }, hints: [] }
    const changed = { ...(current ?? { id: (all.at(-1)?.id ?? 0) + 1, tenant, job, from: now }), ...wanted }
    await write(session, changed)
    await moveToReady(session, "reason = 'pause'")
    return {
      answer: { outcome: open ? 'paused' : 'resumed', pause: changed },
      hints: [{ kind: 'job' }, { kind: 'due', at: now }],
    }
  })
}

function untilOf(until: number | { readonly in: number } | null, now: number): number | null {
  return until === null || typeof until === 'number' ? until : now + until.in
}

async function write(session: Session, { id, tenant, job, from, to, reason, by }: PauseRecord): Promise<void> {
  await session.all(
    `INSERT INTO punctual.pause (${pauseColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (id) DO UPDATE SET to_at = $5, reason = $6, by_whom = $7`,
    [id, tenant, job, from, to, reason, by],
  )
  await session.all('UPDATE punctual.meta SET pause_revision = pause_revision + 1')
}
