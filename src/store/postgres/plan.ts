import { jobId } from '../../model/ids.ts'
import { type JobRecord, kindOf } from '../../model/job.ts'
import { jobKey } from '../ledger/ledger.ts'
import { plan as planInLedger } from '../ledger/plan.ts'
import type { JobPlan, PlanAnswer } from '../store.ts'
import { column } from './arrays.ts'
import { insertRows } from './batch.ts'
import { has } from './by-key.ts'
import type { Context } from './context.ts'
import { flush } from './flush.ts'
import { Slice } from './slice.ts'

export async function plan(context: Context, plans: readonly JobPlan[]) {
  const { db, dictionary, facts } = context
  await dictionary.lookUpSeries(
    db,
    plans.map(({ tenant, job }) => ({ tenant, job })),
  )
  const known = plans.filter(({ tenant, job }) => dictionary.findSeries(tenant, job))
  const series = known.map(({ tenant, job }) => dictionary.series(tenant, job).ref)
  await facts.refresh(db, series)
  await dictionary.addKinds(known.flatMap((one) => kindsOf(context, one)))
  return db.transaction(async (session) => {
    // A pause that comes in between would not be in the plans.
    await session.all('SELECT pause_revision FROM punctual.meta FOR KEY SHARE')
    const slice = await Slice.begin(
      session,
      context,
      plans.reduce((sum, { rows }) => sum + rows.length, 0),
    )
    await loadJobs(slice, series)
    await loadTaken(slice, plans)
    const answers = planInLedger(slice.ledger, plans)
    await Promise.all([writeRanges(slice), flush(slice)])
    await writeJobs(slice, plans, answers)
    return { answers, hints: slice.hints }
  })
}

/** The kinds that the rows of a plan may have: of every version, since the rows say which one they belong to. */
function kindsOf({ dictionary, facts }: Context, { tenant, job, rows }: JobPlan) {
  const versions = facts.versions(dictionary.series(tenant, job).ref) ?? []
  const kinds = [...new Set(versions.map(({ spec }) => kindOf(spec)))]
  const priorities = [...new Set(rows.map(({ priority }) => priority))]
  return kinds.flatMap((kind) => priorities.map((priority) => ({ kind, priority })))
}

type JobRow = [
  series: number,
  version: number,
  tz: string,
  cursor: number,
  nextAt: number | null,
  createdAt: number,
  updatedAt: number,
]

/** Locks the jobs, so that nobody else plans or changes them, and reads how far they are. */
export async function loadJobs(slice: Slice, series: readonly number[]): Promise<void> {
  const { session, context, ledger } = slice
  const rows = await session.all<[...JobRow, declared: string | null, override: string | null]>(
    `SELECT series, version, tz, cursor, next_at, created_at, updated_at, declared, override FROM punctual.job
      WHERE series = ANY($1::int[]) ORDER BY series FOR UPDATE`,
    [column(series)],
  )
  await slice.loadVersions(series)
  for (const [ref, version, tz, cursor, nextAt, createdAt, updatedAt, declared, override] of rows) {
    const { tenant, job } = context.dictionary.seriesByRef(ref)
    const spec = context.facts.versions(ref)?.find((one) => one.version === version)?.spec
    if (!spec) continue
    const record: JobRecord = {
      id: jobId(tenant, job),
      tenant,
      name: job,
      version,
      spec,
      declared: declared === null ? null : JSON.parse(declared),
      override: override === null ? null : JSON.parse(override),
      createdAt,
      updatedAt,
      tz,
      cursor,
      nextAt,
    }
    ledger.jobs.set(jobKey(tenant, job), record)
  }
}

/** What is there already: ids that are taken, and instants that wait for the planner's word. */
async function loadTaken(slice: Slice, plans: readonly JobPlan[]): Promise<void> {
  const { session, context, ledger } = slice
  const ids = column(plans.flatMap(({ rows }) => rows.map(({ id }) => id)))
  const undecided = plans
    .filter(({ revive, drop }) => revive.length + drop.length > 0)
    .flatMap(({ tenant, job }) => context.dictionary.findSeries(tenant, job)?.ref ?? [])
  const [taken, buried, stranded] = await Promise.all([
    session.all<[number]>('SELECT ref FROM punctual.occurrence WHERE id = ANY($1::uuid[])', [ids]),
    session.all<[string, number]>('SELECT id, until FROM punctual.tombstone WHERE id = ANY($1::uuid[])', [ids]),
    session.all<[number]>("SELECT ref FROM punctual.waiting WHERE reason = 'stranded' AND series = ANY($1::int[])", [
      column(undecided),
    ]),
  ])
  for (const [id, until] of buried) ledger.tombstones.set(id, until)
  await slice.gather([...taken, ...stranded].map(([ref]) => ref))
}

/** What a plan knows nothing of and came due while nobody was there must not wait for the next instant. */
async function writeJobs(
  { session, context, now }: Slice,
  plans: readonly JobPlan[],
  answers: readonly PlanAnswer[],
): Promise<void> {
  const planned = plans.filter((_, at) => answers[at]?.outcome === 'planned')
  if (planned.length === 0) return
  await session.all(
    `UPDATE punctual.job j SET cursor = n.cursor, tz = n.tz, next_at = CASE
        WHEN ${has('waiting', "series = n.series AND reason = 'stranded'")} THEN least(n.next_at, $5::float8)
        ELSE n.next_at END
      FROM unnest($1::int[], $2::float8[], $3::float8[], $4::text[]) n (series, cursor, next_at, tz) WHERE j.series = n.series`,
    [
      column(planned.map(({ tenant, job }) => context.dictionary.series(tenant, job).ref)),
      column(planned.map(({ through }) => through)),
      column(planned.map(({ nextAt }) => nextAt)),
      column(planned.map(({ tz }) => tz)),
      now,
    ],
  )
}

async function writeRanges({ session, context, ledger }: Slice): Promise<void> {
  await insertRows(
    session,
    'range',
    {
      series: 'int',
      version: 'int',
      from_at: 'float8',
      to_at: 'float8',
      count: 'bigint',
      state: 'punctual.passed_state',
      reason: 'text',
      recorded_at: 'float8',
    },
    ledger.ranges.map(({ tenant, job, version, from, to, count, state, reason, recordedAt }) => [
      context.dictionary.series(tenant, job).ref,
      version,
      from,
      to,
      count,
      state,
      reason,
      recordedAt,
    ]),
  )
}
