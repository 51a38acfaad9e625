import { type JobRecord, specText, type VersionRecord } from '../../model/job.ts'
import { putAudit } from '../rules/audit.ts'
import { isWithdrawn, putJobRule } from '../rules/put-job.ts'
import { whereOf } from '../rules/sql/conditions.ts'
import { type JobRow, jobRecord, type VersionRow, versionRecord } from '../rules/sql/job-row.ts'
import { toJson } from '../rules/sql/json.ts'
import type { Hint, JobPut, JobPutAnswer, JobQuery } from '../store.ts'
import { appendAudit } from './audit.ts'
import { Changes } from './changes/changes.ts'
import type { Session } from './connection/session.ts'
import { type Context, readNow } from './context.ts'
import { takeIdleWhere } from './occurrence/take-idle.ts'

export async function putJob(
  context: Context,
  put: JobPut,
): Promise<{ readonly answer: JobPutAnswer; readonly hints: readonly Hint[] }> {
  const { db, names, versions } = context
  const { tenant, name } = put
  await names.addSeries([{ tenant, job: name }])
  const series = names.series(tenant, name).ref
  const { answer, hints, isNew } = await db.transaction(async (session) => {
    // A job that does not exist yet has no row to lock.
    const lock = 'SELECT last_version FROM punctual.series WHERE ref = $1 FOR UPDATE'
    const [locked] = await session.rows<{ last_version: number }>(lock, [series])
    const now = await readNow(session, context)
    const [row] = await session.rows<JobRow>(`${selectJob} WHERE s.ref = $1 FOR UPDATE OF j`, [series])
    const known = row ? jobRecord(row) : null
    const { outcome, job, version, isWritten } = putJobRule(known, put, now, locked?.last_version ?? 0)
    if (job && isWritten) await writeJob(session, series, job)
    await appendAudit(session, context, [putAudit(known, put, { outcome, job })])
    if (!version) return { answer: { outcome, job }, hints: [], isNew: false }
    await addVersion(session, series, version)
    const isLine = await withdraw(context, session, series, version.effectiveAt, now)
    const hints: Hint[] = [{ kind: 'job' }, ...(isLine ? [{ kind: 'due' as const, at: now }] : [])]
    return { answer: { outcome, job }, hints, isNew: true }
  })
  // A job that was just put is used next. After an error it is read then.
  if (isNew) await versions.refresh(db, [series]).catch(() => {})
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

async function writeJob(session: Session, series: number, job: JobRecord): Promise<void> {
  const { version, declared, override, tz, cursor, nextAt, createdAt, updatedAt } = job
  await session.rows(
    `INSERT INTO punctual.job (series, version, declared, override, tz, cursor, next_at, created_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      ON CONFLICT (series) DO UPDATE SET version = $2, declared = $3, override = $4, tz = $5, cursor = $6, next_at = $7, updated_at = $9`,
    [series, version, toJson(declared), toJson(override), tz, cursor, nextAt, createdAt, updatedAt],
  )
}

async function addVersion(
  session: Session,
  series: number,
  { version, spec, effectiveAt, createdAt, by }: VersionRecord,
): Promise<void> {
  await session.rows(
    'INSERT INTO punctual.job_version (series, version, spec, effective_at, created_at, by_whom) VALUES ($1, $2, $3, $4, $5, $6)',
    [series, version, specText(spec), effectiveAt, createdAt, by],
  )
}

/** Of a job `j` and its series `s`. */
export const jobColumns =
  's.tenant, s.job, j.version, j.declared, j.override, j.created_at, j.updated_at, j.tz, j.cursor, j.next_at'

const versionColumns = 'v.version, v.spec, v.effective_at, v.created_at, v.by_whom'

export const selectJob = `SELECT ${jobColumns}, v.spec FROM punctual.series s JOIN punctual.job j ON j.series = s.ref
  JOIN punctual.job_version v ON v.series = j.series AND v.version = j.version`

export async function readJobs({ db }: Context, { tenant, name, search, after, limit }: JobQuery): Promise<readonly JobRecord[]> {
  const { where, values } = whereOf(
    [
      ['s.tenant = ?', tenant],
      ['s.job = ?', name],
      [/[A-Za-z]/.test(search ?? '') ? 's.job ILIKE ?' : 's.job LIKE ?', search && `%${search.replace(/[\\%_]/g, '\\$&')}%`],
      ['(s.job, s.tenant) > (?, ?)', after && [after.name, after.tenant]],
    ],
    (n) => `$${n + 2}`,
  )
  const rows = await db.rows<JobRow>(`${selectJob} ${where} ORDER BY s.job, s.tenant LIMIT $1`, [limit, ...values])
  return rows.map(jobRecord)
}

export async function readVersions(
  { db }: Context,
  { tenant, name }: { tenant: string; name: string },
): Promise<readonly VersionRecord[]> {
  const rows = await db.rows<VersionRow>(
    `SELECT ${versionColumns} FROM punctual.series s JOIN punctual.job_version v ON v.series = s.ref
      WHERE s.tenant = $1 AND s.job = $2 ORDER BY v.version`,
    [tenant, name],
  )
  return rows.map(versionRecord)
}
