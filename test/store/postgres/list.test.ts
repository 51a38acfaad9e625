// Lists over more rows than fit into any of their shortcuts, against a plain filter of the same rows.
import { beforeAll, expect, it } from 'vitest'
import { type OccurrenceState, occurrenceStates, type TurnEnd } from '../../../src/model/lifecycle.ts'
import { column } from '../../../src/store/postgres/connection/arrays.ts'
import type { Context } from '../../../src/store/postgres/context.ts'
import { refreshBlocks } from '../../../src/store/postgres/list/refresh-blocks.ts'
import { reading } from '../../../src/store/postgres/list/snapshot.ts'
import { list, pageQuery } from '../../../src/store/postgres/list.ts'
import type { OccurrenceFilter } from '../../../src/store/query.ts'
import { seededRandom } from '../../../src/testing/store-suite/seeded-random.ts'
import { postgresContext } from '../../support/postgres-context.ts'

type Page = Awaited<ReturnType<typeof list>>[number]

interface Row {
  readonly ref: number
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly key: string | null
  readonly entity: string | null
  readonly state: OccurrenceState
  readonly scheduledAt: number
  /** The ends of turns before the one in its state. */
  readonly earlier: readonly TurnEnd[]
}

const rowCount = 30_000
const base = 1_700_000_000_000
/** Occurrences are created a second apart, so those for a time far from their age lie hours from it. */
const at = (second: number) => base + second * 1000
let context: Context
let rows: readonly Row[]

beforeAll(async () => {
  context = await postgresContext()
  rows = makeRows()
  await insert(context, rows)
})

const jobs = [
  {},
  { tenant: 't0', job: 'hot' },
  { tenant: 't0' },
  { job: 'j1' },
  { tenant: 't7', job: 'j2' },
  { tenant: 'nobody' },
]
const windows = [
  {},
  { from: at(9000), to: at(9100) },
  { from: at(100), to: at(20_000) },
  { from: at(20_000), to: at(26_000) },
  { from: at(29_000) },
  { to: at(15_000) },
]

it.each(jobs)('%j: whatever else is asked for', async (job) => {
  for (const window of windows)
    for (const more of [{}, { key: 'k7' }, { entity: 'e3' }]) await check({ ...job, ...window, ...more })
})

it.each(occurrenceStates)('%s of all, of some and of one', async (state) => {
  for (const job of jobs.slice(0, 4)) for (const window of windows) await check({ ...job, ...window, states: [state] })
})

it('several states at once, also of one key or entity', async () => {
  for (const states of [['failed', 'dead'], ['pending', 'running', 'completed'], occurrenceStates, []] as const)
    for (const more of [{}, { tenant: 't0' }, { key: 'k7' }, { entity: 'e3', tenant: 't1' }, windows[2]])
      await check({ ...more, states })
})

it('finds the same when the index has looked at the table anew', async () => {
  let from = 0
  do from = await refreshBlocks(context, from)
  while (from > 0)
  for (const window of windows) await check({ ...window, states: ['completed', 'retrying'] })
})

it('walks the rows of a job that were created about the time of a window, and no others', async () => {
  const window = { tenant: 't0', job: 'hot', from: at(28_500), to: at(29_000), limit: 400 }
  const wanted = rows.filter((row) => matches(row, window)).length
  const statements: { readonly sql: string; readonly values: readonly unknown[] }[] = []
  const db = Object.create(context.db) as Context['db']
  db.snapshot = (act) =>
    context.db.snapshot(async (session) =>
      act({
        rows: (sql, values = []) => {
          statements.push({ sql, values })
          return session.rows(sql, values)
        },
      }),
    )
  const [{ items }] = (await list({ ...context, db }, [pageQuery(window)])) as [Page]
  expect(items).toHaveLength(wanted)
  const { sql, values } = statements.find(({ sql }) => sql.startsWith('WITH lane')) as (typeof statements)[number]
  const looked = await context.db.snapshot(async (session) => {
    await reading(session, 'in order')
    const [row] = await session.rows<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
      values,
    )
    return rowsRead(row?.['QUERY PLAN'][0]?.Plan as PlanNode)
  })
  // Twice from the newest to the lower bound, which is found in steps of a part of the table: all rows of the job were 30,000.
  expect(looked).toBeGreaterThanOrEqual(wanted)
  expect(looked).toBeLessThan(20_000)
})

interface PlanNode {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

function rowsRead(node: PlanNode): number {
  const { 'Actual Rows': kept, 'Actual Loops': loops, 'Rows Removed by Filter': removed = 0, Plans = [] } = node
  const own = node['Relation Name'] === 'occurrence' ? (kept + removed) * loops : 0
  return own + Plans.reduce((sum, plan) => sum + rowsRead(plan), 0)
}

/** The first page, one in the midst, and one small page after another. */
async function check(filter: Omit<OccurrenceFilter, 'limit'>): Promise<void> {
  const wanted = rows.filter((row) => matches(row, filter)).map(({ id }) => id)
  const title = JSON.stringify(filter)
  const [first] = (await list(context, [pageQuery({ ...filter, limit: 100 })])) as [Page]
  expect(
    first.items.map(({ id }) => id),
    title,
  ).toEqual(wanted.slice(0, 100))
  expect(first.cursor === null, title).toBe(wanted.length <= 100)
  if (first.cursor === null) return
  const [second] = (await list(context, [pageQuery({ ...filter, limit: 33, cursor: first.cursor })])) as [Page]
  expect(
    second.items.map(({ id }) => id),
    title,
  ).toEqual(wanted.slice(100, 133))
}

function matches(row: Row, { tenant, job, states, key, entity, from, to }: Omit<OccurrenceFilter, 'limit'>): boolean {
  return (
    (tenant === undefined || row.tenant === tenant) &&
    (job === undefined || row.job === job) &&
    (states === undefined || states.includes(row.state)) &&
    (key === undefined || row.key === key) &&
    (entity === undefined || row.entity === entity) &&
    (from === undefined || row.scheduledAt >= from) &&
    (to === undefined || row.scheduledAt < to)
  )
}

/** The newest first. Half of all are of one job, whose newest rows have not ended; some are for a time far from their age. */
function makeRows(): Row[] {
  const random = seededRandom(11)
  const pick = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T
  const rest = occurrenceStates.filter((state) => state !== 'completed' && state !== 'running')
  return Array.from({ length: rowCount }, (_, index): Row => {
    const ref = rowCount - index
    const isHot = random() < 0.5
    const common = isHot && ref > rowCount - 8000 ? 'pending' : 'completed'
    const state = random() < 0.9 ? common : random() < 0.01 ? 'running' : pick(rest)
    const mayHaveBefore = state !== 'pending' && state !== 'waiting'
    const earlier: TurnEnd[] = state === 'retrying' ? [pick(['parked', 'lost', 'dead'])] : []
    return {
      ref,
      id: `00000000-0000-7000-8000-${String(ref).padStart(12, '0')}`,
      tenant: isHot ? 't0' : `t${Math.floor(random() * 12)}`,
      job: isHot ? 'hot' : `j${Math.floor(random() * 4)}`,
      key: random() < 0.02 ? `k${Math.floor(random() * 20)}` : null,
      entity: random() < 0.02 ? `e${Math.floor(random() * 8)}` : null,
      state,
      scheduledAt: at(random() < 0.01 ? Math.floor(random() * rowCount) : ref + Math.floor(random() * 50)),
      earlier: mayHaveBefore && random() < 0.1 ? [...earlier, 'released', 'parked'] : earlier,
    }
  })
}

async function insert({ db, names }: Context, all: readonly Row[]): Promise<void> {
  const shared = {
    version: 0,
    source: 'deferred',
    unique: 'ever',
    isHooked: false,
    priority: 5,
    startWithinMs: null,
    limits: null,
  } as const
  await names.addForms([{ form: { kind: 'k', ...shared }, isGated: false }])
  for (const { tenant, job } of all) if (!names.findSeries(tenant, job)) await names.addSeries([{ tenant, job }])
  const seriesOf = ({ tenant, job }: Row) => names.series(tenant, job).ref
  const oldestFirst = all.toReversed()
  const of = (some: readonly Row[], value: (row: Row) => string | number | null) => column(some.map(value))
  await db.rows(
    `INSERT INTO punctual.occurrence (ref, id, series, scheduled_at, key, entity, created_at, form)
      SELECT ref, id, series, at, key, entity, ${base} + ref * 1000, 1
      FROM unnest($1::bigint[], $2::uuid[], $3::int[], $4::float8[], $5::text[], $6::text[]) o (ref, id, series, at, key, entity)`,
    [
      of(oldestFirst, ({ ref }) => ref),
      of(oldestFirst, ({ id }) => id),
      of(oldestFirst, seriesOf),
      of(oldestFirst, ({ scheduledAt }) => scheduledAt),
      of(oldestFirst, ({ key }) => key),
      of(oldestFirst, ({ entity }) => entity),
    ],
  )
  const inState = (...states: OccurrenceState[]) => oldestFirst.filter(({ state }) => states.includes(state))
  const place = (table: 'ready' | 'waiting', some: readonly Row[], isRetrying: boolean) =>
    db.rows(
      `INSERT INTO punctual.${table} (kind, priority, due_at, ref, series, turn, begun, retrying, planned, recovery, gate, granted
          ${table === 'waiting' ? ', reason' : ''})
        SELECT 1, 5, 0, ref, series, 1, false, ${isRetrying}, false, false, false, 0 ${table === 'waiting' ? ", 'pause'" : ''}
        FROM unnest($1::bigint[], $2::int[]) r (ref, series)`,
      [of(some, ({ ref }) => ref), of(some, seriesOf)],
    )
  await place('ready', inState('pending'), false)
  await place('ready', inState('retrying'), true)
  await place('waiting', inState('waiting'), false)
  await db.rows(
    `INSERT INTO punctual.dead (ref, series, tenant, cause, died_at)
      SELECT ref, series, (SELECT s.tenant FROM punctual.series s WHERE s.ref = d.series), '', 0
      FROM unnest($1::bigint[], $2::int[]) d (ref, series)`,
    [of(inState('dead'), ({ ref }) => ref), of(inState('dead'), seriesOf)],
  )
  const turns = oldestFirst.flatMap((row) => {
    const isOver = !['pending', 'waiting', 'retrying', 'running'].includes(row.state)
    return [...row.earlier, ...(isOver ? [row.state as TurnEnd] : [])].map((end, index) => ({ row, end, turn: index + 1 }))
  })
  await db.rows(
    `INSERT INTO punctual.turn (ref, turn, "end", series, ended_at, due_at)
      SELECT ref, turn, "end", series, 0, 0
      FROM unnest($1::bigint[], $2::int[], $3::punctual.turn_end[], $4::int[]) t (ref, turn, "end", series)`,
    [
      column(turns.map(({ row }) => row.ref)),
      column(turns.map(({ turn }) => turn)),
      column(turns.map(({ end }) => end)),
      column(turns.map(({ row }) => seriesOf(row))),
    ],
  )
  // A claim keeps members that have ended until the last of them has.
  const members = [...inState('running'), ...inState('completed').slice(-50)]
  await db.rows(
    `INSERT INTO punctual.claim (id, token, node, refs, turns, dues) VALUES ('c', 't', 'boot', $1::bigint[], $2::int[], $3::float8[])`,
    [
      of(members, ({ ref }) => ref),
      of(members, ({ earlier }) => earlier.length + 1),
      of(members, ({ scheduledAt }) => scheduledAt),
    ],
  )
  // Some counts are folded, and some are not.
  const groups = Map.groupBy(all, (row) => `${seriesOf(row)} ${row.state}`)
  for (const [group, { length }] of groups) {
    const [series, state] = group.split(' ')
    if (length % 2 === 0) await db.rows(`UPDATE punctual.series SET ${state} = $2 WHERE ref = $1`, [series, length])
    else await db.rows(`INSERT INTO punctual.count_delta (series, ${state}) VALUES ($1, $2)`, [series, length])
  }
  await db.rows(
    'INSERT INTO punctual.tenant (name, completed) SELECT tenant, sum(completed) FROM punctual.series GROUP BY tenant',
  )
  await db.rows('ANALYZE punctual.occurrence, punctual.turn, punctual.ready')
}
