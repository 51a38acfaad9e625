import type { JobRecord, VersionRecord } from '../../model/job.ts'
import { isWithdrawn } from '../rules/put-job.ts'
import { whereOf } from '../rules/sql/conditions.ts'
import * as shared from '../rules/sql/jobs.ts'
import type { Hint, JobPut, JobPutAnswer, JobQuery } from '../store.ts'
import { Changes } from './changes/changes.ts'
import { runSteps, type Session } from './connection/session.ts'
import type { Acted, Context } from './context.ts'
import { takeIdleWhere } from './occurrence/take-idle.ts'

export async function putJob(context: Context, put: JobPut): Promise<Acted<JobPutAnswer>> {
  const { db, names, versions } = context
  const { tenant, name } = put
  await names.addSeries([{ tenant, job: name }])
  const series = names.series(tenant, name).ref
  const { answer, hints } = await db.transaction(async (session) => {
    const { answer, added, now } = await runSteps(session, shared.putJob(context.now(), series, put))
    if (!added) return { answer, hints: [] }
    const isLine = await withdraw(context, session, series, added.effectiveAt, now)
    const hints: Hint[] = [{ kind: 'job' }, ...(isLine ? [{ kind: 'due' as const, at: now }] : [])]
    return { answer, hints }
  })
  // A job that was just put is used next. After an error it is read then.
  if (hints.length > 0) await versions.refresh(db, [series]).catch(() => {})
  return { answer, hints }
}

/** Takes back what older versions have planned from then on. */
async function withdraw(context: Context, session: Session, series: number, effectiveAt: number, now: number): Promise<boolean> {
  const where = `p.series = $1 AND p.planned AND NOT p.begun AND NOT p.recovery
    AND (SELECT o.scheduled_at FROM punctual.occurrence o WHERE o.ref = p.ref) >= $2::float8`
  const changes = new Changes(now)
  for (const idle of await takeIdleWhere(context, session, where, [series, effectiveAt])) {
    if (isWithdrawn(idle.record, idle.hasBegun, effectiveAt)) changes.remove(idle)
    else changes.putBack(idle, idle.isRetrying, idle.wait)
  }
  return changes.write(session)
}

export async function readJobs({ db }: Context, { tenant, name, search, after, limit }: JobQuery): Promise<readonly JobRecord[]> {
  const { where, values } = whereOf(
    [
      ['s.tenant = ?', tenant],
      ['s.job = ?', name],
      [/[A-Za-z]/.test(search ?? '') ? 's.job ILIKE ?' : 's.job LIKE ?', search && `%${search.replace(/[\\%_]/g, '\\$&')}%`],
      ['(s.job, s.tenant) > (?, ?)', after && [after.name, after.tenant]],
    ],
    2,
  )
  const rows = await db.rows<shared.JobRow>(`${shared.selectJob} WHERE ${where} ORDER BY s.job, s.tenant LIMIT $1`, [
    limit,
    ...values,
  ])
  return rows.map(shared.jobRecord)
}

export async function readVersions(
  { db, names }: Context,
  { tenant, name }: { tenant: string; name: string },
): Promise<readonly VersionRecord[]> {
  await names.findAllSeries(db, [{ tenant, job: name }])
  const series = names.findSeries(tenant, name)
  return series ? runSteps(db, shared.readVersions(series.ref)) : []
}
