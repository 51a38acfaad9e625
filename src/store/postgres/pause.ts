import type { PauseRecord } from '../../model/pause.ts'
import * as shared from '../rules/sql/pauses.ts'
import type { PauseAnswer, PauseRequest } from '../store.ts'
import { lockDoor } from './claim/door.ts'
import { runSteps, type Session } from './connection/session.ts'
import type { Acted, Context } from './context.ts'
import { takeGrantsBack } from './occurrence/take-idle.ts'

export async function pause(context: Context, request: PauseRequest): Promise<Acted<PauseAnswer>> {
  return context.db.transaction(async (session) => {
    // A claim at the door sets work aside by the pauses it knows.
    await session.rows(lockDoor)
    // Plans hold this row while they count on the pauses they know.
    await session.rows('SELECT pause_revision FROM punctual.meta FOR UPDATE')
    const { answer, now } = await runSteps(session, shared.putPause(context.now(), request))
    if (answer.outcome === 'unchanged' || !answer.pause) return { answer, hints: [] }
    await session.rows('UPDATE punctual.pause SET swept = false WHERE id = $1', [answer.pause.id])
    await session.rows('UPDATE punctual.meta SET pause_revision = pause_revision + 1')
    await publish(session, answer.outcome, answer.pause, now)
    // All that waits for the end of a pause is looked at again.
    await takeGrantsBack(context, session, now, "p.reason = 'pause'", [], ['waiting'])
    // Work that a pause holds back holds no key that other jobs may need.
    const { tenant, job } = answer.pause
    if (answer.outcome === 'paused') await takeGrantsBack(context, session, now, isHolding, [tenant, job])
    return { answer, hints: [{ kind: 'job' }, { kind: 'due', at: now }] }
  })
}

/** Publishes the change, where the paused job asks for it. */
async function publish(session: Session, outcome: 'paused' | 'resumed', paused: PauseRecord, now: number): Promise<void> {
  const { tenant, job, from, to, reason, by } = paused
  if (tenant === null || job === null) return
  await session.rows(
    `SELECT punctual.publish_1($1::float8, s.tenant, s.slot, (v.spec::jsonb ->> 'publish')::jsonb, $4, jsonb_build_object('job', s.job, 'reason', $5::text,
        'by', $6::text, 'from', punctual.iso_1($7::float8), 'until', punctual.iso_1($8::float8))) IS NULL
      FROM punctual.series s JOIN punctual.job j ON j.series = s.ref
      JOIN punctual.job_version v ON v.series = s.ref AND v.version = j.version WHERE s.tenant = $2 AND s.job = $3`,
    [now, tenant, job, `job.${outcome}`, reason, by, from, to],
  )
}

const isHolding = `p.granted > 0 AND EXISTS (SELECT 1 FROM punctual.series s WHERE s.ref = p.series
    AND ($1::text IS NULL OR s.tenant = $1) AND ($2::text IS NULL OR s.job = $2))`

export function readPauses({ db }: Context, query: { readonly since?: number }): Promise<readonly PauseRecord[]> {
  return runSteps(db, shared.readPauses(query))
}

/** Pauses that are over and have no instant left in them cost claims nothing any more. */
export async function sweepPauses(session: Session, now: number): Promise<void> {
  const instants = (table: string) => `EXISTS (SELECT 1 FROM punctual.${table} p JOIN punctual.series s ON s.ref = p.series
      JOIN punctual.occurrence o ON o.ref = p.ref WHERE p.planned AND NOT p.begun AND ${shared.coversSeries('q', 's')}
        AND q.from_at <= o.scheduled_at AND o.scheduled_at < q.to_at)`
  await session.rows(
    `UPDATE punctual.pause q SET swept = true WHERE NOT q.swept AND q.to_at <= $1::float8 AND NOT ${instants('ready')}
      AND NOT ${instants('waiting')} AND NOT EXISTS (SELECT 1 FROM punctual.waiting WHERE reason = 'pause')`,
    [now],
  )
}
