import type { JobRecord } from '../../model/job.ts'
import { specText } from '../../model/job.ts'
import { putJob as putInLedger } from '../ledger/jobs.ts'
import { jobKey } from '../ledger/ledger.ts'
import { toJson } from '../rows/json.ts'
import type { JobPut } from '../store.ts'
import { each } from './by-key.ts'
import type { Context } from './context.ts'
import { flush } from './flush.ts'
import { loadJobs } from './plan.ts'
import { Slice } from './slice.ts'

export async function putJob(context: Context, put: JobPut) {
  const { db, dictionary, facts } = context
  const { tenant, name } = put
  await dictionary.addSeries([{ tenant, job: name }])
  const series = dictionary.series(tenant, name).ref
  const { isNew, ...rest } = await db.transaction(async (session) => {
    // A job that does not exist yet has no row to lock.
    await session.all('SELECT ref FROM punctual.series WHERE ref = $1 FOR UPDATE', [series])
    const slice = await Slice.begin(session, context)
    await loadJobs(slice, [series])
    const key = jobKey(tenant, name)
    const known = slice.ledger.jobs.get(key)
    if (known) await loadPlanned(slice, series, put)
    const answer = putInLedger(slice.ledger, put)
    const job = slice.ledger.jobs.get(key)
    if (job && !isSame(known, job)) await writeJob(slice, series, job)
    const isNew = job !== undefined && job.version !== known?.version
    if (isNew) await addVersion(slice, series, job, put)
    await flush(slice)
    return { answer, hints: slice.hints, isNew }
  })
  // Who puts a job makes work of it next. What cannot be read now is read then.
  if (isNew) await facts.refresh(db, [series]).catch(() => {})
  return rest
}

/** The planned instants that the change may take back. */
async function loadPlanned(slice: Slice, series: number, { effectiveAt }: JobPut): Promise<void> {
  const rows = await slice.session.all<[number]>(
    `SELECT r.ref FROM punctual.ready r CROSS JOIN ${each('occurrence', 'ref = r.ref')} o
      WHERE r.series = $1 AND r.planned AND o.scheduled_at >= $2::float8 AND o.source = 'schedule'`,
    [series, Math.max(effectiveAt ?? slice.now, slice.now)],
  )
  await slice.gather(rows.map(([ref]) => ref))
}

/** Declaring the same again writes nothing. */
function isSame(before: JobRecord | undefined, after: JobRecord): boolean {
  return (
    before !== undefined &&
    before.version === after.version &&
    toJson(before.declared) === toJson(after.declared) &&
    toJson(before.override) === toJson(after.override)
  )
}

async function writeJob({ session }: Slice, series: number, job: JobRecord): Promise<void> {
  await session.all(
    `INSERT INTO punctual.job (series, version, declared, override, tz, cursor, next_at, created_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      ON CONFLICT (series) DO UPDATE SET version = $2, declared = $3, override = $4, tz = $5, cursor = $6, next_at = $7, updated_at = $9`,
    [
      series,
      job.version,
      toJson(job.declared),
      toJson(job.override),
      job.tz,
      job.cursor,
      job.nextAt,
      job.createdAt,
      job.updatedAt,
    ],
  )
}

async function addVersion(
  slice: Slice,
  series: number,
  { version, spec, tenant, name }: JobRecord,
  { by }: JobPut,
): Promise<void> {
  const added = slice.ledger.versions.get(jobKey(tenant, name))?.find((one) => one.version === version)
  await slice.session.all(
    'INSERT INTO punctual.job_version (series, version, spec, effective_at, created_at, by_whom) VALUES ($1, $2, $3, $4, $5, $6)',
    [series, version, specText(spec), added?.effectiveAt ?? slice.now, slice.now, by],
  )
}
