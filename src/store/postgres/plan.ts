import { bareEnd } from '../../model/turn.ts'
import { draftPlanned, revivedRecord } from '../rules/draft.ts'
import { decisionOn, plannedDue } from '../rules/plan.ts'
import { coversSeries } from '../rules/sql/pauses.ts'
import { isPlanned } from '../rules/verdict.ts'
import type { Hint, JobPlan, PlanAnswer, PlannedOccurrence } from '../store.ts'
import { Changes } from './changes/changes.ts'
import { column } from './connection/arrays.ts'
import { lacks } from './connection/by-key.ts'
import { isDuplicate } from './connection/failure.ts'
import type { Session } from './connection/session.ts'
import type { Acted, Context } from './context.ts'
import { updateRecord } from './create/conflicts.ts'
import { NamesNeeded } from './names/names.ts'
import { extraOf, formOf, isGated } from './occurrence/record.ts'
import { takeIdleWhere } from './occurrence/take-idle.ts'

export { jobsToPlan } from './plan/jobs-to-plan.ts'

/** Plans jobs, all by one statement; the words on stranded instants, where there are any, in the same transaction. */
export async function plan(context: Context, plans: readonly JobPlan[]): Promise<Acted<readonly PlanAnswer[]>> {
  const { db, names, versions } = context
  await names.findAllSeries(db, plans)
  const known = plans.filter(({ tenant, job }) => names.findSeries(tenant, job))
  const stale = known.flatMap(({ tenant, job, version, rows }) => {
    const { ref } = names.series(tenant, job)
    return versions.newest(ref) < Math.max(version, ...rows.map((row) => row.version)) ? [ref] : []
  })
  await versions.refresh(db, stale)
  const rows = known.flatMap((one) => one.rows.map((row) => draft(context, one, row)))
  await names.addForms(rows)
  const isWord = known.some(({ revive, drop }) => revive.length + drop.length > 0)
  for (let tries = 1; ; tries++) {
    try {
      const { now, created } = isWord
        ? await db.transaction(async (session) => {
            const planned = await insert(context, session, known, rows)
            for (const one of known) await decide(context, session, one, planned)
            return planned
          })
        : await insert(context, db, known, rows)
      return { answer: plans.map((one) => answerOf(context, one, created)), hints: hintsOf(context, known, created, now) }
    } catch (error) {
      if (error instanceof NamesNeeded) await names.addForms(error.forms)
      // The same instant was planned at the same moment: its job has moved on, which the next try sees.
      else if (!isDuplicate(error) || tries > 3) throw error
    }
  }
}

function draft({ names, versions }: Context, { tenant, job }: JobPlan, row: PlannedOccurrence) {
  const series = names.series(tenant, job).ref
  const known = versions.of(series) ?? []
  const spec = (known.find(({ version }) => version === row.version) ?? known.at(-1))?.spec
  if (!spec) throw new Error(`The job ${job} has no versions`)
  const record = draftPlanned({ tenant, name: job, spec }, row, 0)
  return { row, series, record, form: formOf(record), isGated: isGated(record) }
}

type Drafted = ReturnType<typeof draft>

interface Planned {
  readonly now: number
  /** By series: how many rows were new. Jobs that had changed are left out. */
  readonly created: ReadonlyMap<number, number>
}

// ok: the jobs that are as planned; the lock keeps a pause from coming in between. fresh: rows whose ids are neither in use
// nor buried. A pause that was over and had no instants left is looked at again when it gets one.
const insertPlans = `WITH t AS MATERIALIZED (SELECT coalesce($1::float8, punctual.now_ms()) AS now),
  m AS MATERIALIZED (SELECT pause_revision FROM punctual.meta FOR KEY SHARE),
  given AS MATERIALIZED (
    SELECT * FROM unnest($2::int[], $3::int[], $4::float8[], $5::bigint[], $6::float8[], $7::float8[], $8::text[])
      p (series, version, cursor, revision, through, next_at, tz)),
  ok AS (
    UPDATE punctual.job j SET cursor = p.through, tz = p.tz, next_at = CASE
        WHEN (SELECT true FROM punctual.waiting w WHERE w.series = p.series AND w.reason = 'stranded' LIMIT 1) THEN least(p.next_at, t.now)
        ELSE p.next_at END
    FROM given p, m, t WHERE j.series = p.series AND j.version = p.version AND j.cursor = p.cursor AND m.pause_revision = p.revision
    RETURNING j.series),
  n AS MATERIALIZED (
    SELECT nextval('punctual.occurrence_ref_seq') AS ref, r.* FROM unnest($9::uuid[], $10::int[], $11::int[], $12::int[], $13::smallint[], $14::text[],
        $15::text[], $16::jsonb[], $17::float8[], $18::float8[], $19::float8[], $20::boolean[], $21::boolean[], $22::text[], $23::text[])
      WITH ORDINALITY r (id, series, form, kind, priority, extra, payload, limits, at, due_at, expires_at, planned, recovery, state, reason, place)
    WHERE r.series IN (SELECT series FROM ok) AND ${lacks('occurrence', 'id = r.id')} AND ${lacks('tombstone', 'id = r.id')} ORDER BY r.place),
  o AS (
    INSERT INTO punctual.occurrence (ref, id, series, form, extra, payload, scheduled_at, created_at)
    SELECT n.ref, n.id, n.series, n.form, n.extra, n.payload, n.at, t.now FROM n, t),
  r AS (
    INSERT INTO punctual.ready (kind, priority, due_at, ref, series, turn, begun, retrying, planned, recovery, gate, granted, expires_at, limits)
    SELECT kind, priority, due_at, ref, series, 1, false, false, planned, recovery, limits IS NOT NULL, 0, expires_at, limits FROM n WHERE state IS NULL),
  e AS (
    INSERT INTO punctual.turn (ref, turn, series, due_at, "end", ended_at, reason, is_published)
    SELECT n.ref, 1, n.series, n.due_at, n.state::punctual.turn_end, t.now, n.reason,
      (SELECT f.publish IS NOT NULL FROM punctual.form f WHERE f.ref = n.form) FROM n, t WHERE n.state IS NOT NULL),
  g AS (
    INSERT INTO punctual.range (series, version, from_at, to_at, count, state, reason, recorded_at)
    SELECT r.series, r.version, r.from_at, r.to_at, r.count, r.state::punctual.passed_state, r.reason, t.now
    FROM t, unnest($24::int[], $25::int[], $26::float8[], $27::float8[], $28::bigint[], $29::text[], $30::text[])
      WITH ORDINALITY r (series, version, from_at, to_at, count, state, reason, place) WHERE r.series IN (SELECT series FROM ok) ORDER BY r.place),
  c AS (
    INSERT INTO punctual.count_delta (series, pending, missed, skipped)
    SELECT a.series, sum(a.pending), sum(a.missed), sum(a.skipped) FROM (
      SELECT series, (state IS NULL)::int AS pending, coalesce(state = 'missed', false)::int AS missed, coalesce(state = 'skipped', false)::int AS skipped FROM n
      UNION ALL
      SELECT r.series, 0, CASE WHEN r.state = 'missed' THEN r.count ELSE 0 END, CASE WHEN r.state = 'skipped' THEN r.count ELSE 0 END
      FROM unnest($24::int[], $28::bigint[], $29::text[]) r (series, count, state) WHERE r.series IN (SELECT series FROM ok)) a GROUP BY a.series),
  q AS (
    UPDATE punctual.pause SET swept = false FROM n JOIN punctual.series s ON s.ref = n.series
    WHERE pause.swept AND ${coversSeries('pause', 's')}
      AND pause.from_at <= n.at AND n.at < pause.to_at)
  SELECT t.now, ok.series, (SELECT count(*) FROM n WHERE n.series = ok.series) AS created FROM t LEFT JOIN ok ON true`

interface PlannedRow {
  readonly now: number
  /** Null where no job is as planned. */
  readonly series: number | null
  readonly created: number
}

async function insert(context: Context, session: Session, plans: readonly JobPlan[], rows: readonly Drafted[]): Promise<Planned> {
  if (plans.length === 0) return { now: context.guessNow(), created: new Map() }
  const { names } = context
  const ofPlans = <T extends string | number | null>(value: (plan: JobPlan) => T) => column(plans.map(value))
  const ofRows = <T extends string | number | boolean | null>(value: (row: Drafted) => T) => column(rows.map(value))
  const ranges = plans.flatMap((one) => one.ranges.map((range) => ({ ...range, version: one.version, plan: one })))
  const seriesOf = ({ tenant, job }: JobPlan) => names.series(tenant, job).ref
  const found = await session.rows<PlannedRow>(insertPlans, [
    context.now(),
    ofPlans(seriesOf),
    ofPlans(({ version }) => version),
    ofPlans(({ cursor }) => cursor),
    ofPlans(({ pauseRevision }) => pauseRevision),
    ofPlans(({ through }) => through),
    ofPlans(({ nextAt }) => nextAt),
    ofPlans(({ tz }) => tz),
    ofRows(({ row }) => row.id),
    ofRows(({ series }) => series),
    ofRows(({ form }) => names.form(form).ref),
    ofRows(({ form }) => names.form(form).kindRef),
    ofRows(({ row }) => row.priority),
    ofRows(({ record }) => extraOf(record)),
    ofRows(({ record }) => record.payload),
    ofRows(({ record, isGated: has }) => (has ? JSON.stringify(record.limits) : null)),
    ofRows(({ row }) => row.at),
    ofRows(({ row }) => row.dueAt),
    ofRows(({ row }) => (row.startWithinMs === null ? null : row.dueAt + row.startWithinMs)),
    ofRows(({ row }) => isPlanned(row.source)),
    ofRows(({ row }) => row.source === 'recovery'),
    ofRows(({ row }) => row.end?.state ?? null),
    ofRows(({ row }) => row.end?.reason ?? null),
    column(ranges.map(({ plan: one }) => seriesOf(one))),
    column(ranges.map(({ version }) => version)),
    column(ranges.map(({ from }) => from)),
    column(ranges.map(({ to }) => to)),
    column(ranges.map(({ count }) => count)),
    column(ranges.map(({ state }) => state)),
    column(ranges.map(({ reason }) => reason)),
  ])
  const [{ now }] = found as [PlannedRow]
  context.noteNow(now)
  return { now, created: new Map(found.flatMap(({ series, created }) => (series === null ? [] : [[series, created]]))) }
}

/** Applies the planner's decision on instants that came due while no node was alive. */
async function decide(context: Context, session: Session, one: JobPlan, { now, created }: Planned): Promise<void> {
  const { ref: series } = context.names.series(one.tenant, one.job)
  if (!created.has(series)) return
  const changes = new Changes(now)
  // Other rows stay where they are.
  const where = `p.series = $1 AND p.reason = 'stranded'
    AND (SELECT o.scheduled_at FROM punctual.occurrence o WHERE o.ref = p.ref) = ANY($2::float8[])`
  const decided = column([...one.revive, ...one.drop].map(({ at }) => at))
  for (const idle of await takeIdleWhere(context, session, where, [series, decided], ['waiting'])) {
    const { revived, dropped } = decisionOn(idle.record.scheduledAt, one)
    if (revived) {
      const record = revivedRecord(idle.record, revived)
      await updateRecord(context, session, idle.ref, record, true)
      changes.reschedule({ ...idle, record }, idle.dueAt, idle.isRetrying)
    } else if (dropped) {
      changes.endIdle(idle, { turn: idle.turn, ...bareEnd(dropped.state, now, { reason: dropped.reason }) })
    }
  }
  await changes.write(session)
  await session.rows(
    `UPDATE punctual.job SET next_at = $2::float8 WHERE series = $1
      AND NOT EXISTS (SELECT 1 FROM punctual.waiting w WHERE w.series = $1 AND w.reason = 'stranded')`,
    [series, one.nextAt],
  )
}

function answerOf({ names }: Context, { tenant, job }: JobPlan, created: Planned['created']): PlanAnswer {
  const count = created.get(names.findSeries(tenant, job)?.ref ?? -1)
  return count === undefined ? { outcome: 'behind' } : { outcome: 'planned', created: Number(count) }
}

function hintsOf({ names }: Context, plans: readonly JobPlan[], created: Planned['created'], now: number): Hint[] {
  return plans.flatMap((plan): Hint[] => {
    const at = created.has(names.series(plan.tenant, plan.job).ref) ? plannedDue(plan, now) : null
    return at === null ? [] : [{ kind: 'due', at }]
  })
}
