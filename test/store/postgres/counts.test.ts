import { expect, it } from 'vitest'
import type { Session } from '../../../src/store/postgres/connection/session.ts'
import type { Context } from '../../../src/store/postgres/context.ts'
import { counts, foldSome as fold } from '../../../src/store/postgres/counts.ts'
import { postgresContext } from '../../support/postgres-context.ts'

it('counts are those of the series and of all deltas that are not folded yet', async () => {
  const { context, insert } = await twoJobs()
  await insert({ series: 1, pending: 3 }, { series: 2, pending: 1, failed: 2 })
  await fold(context)
  await insert({ series: 1, pending: -1, running: 1 }, { series: 1, running: -1, completed: 1, lastRunAt: 70 })
  const { states, lastRunAt } = await counts(context, { tenant: 'acme', job: 'mail' })
  expect((await counts(context, { tenant: 'acme' })).states).toEqual(states)
  expect(states).toMatchObject({ pending: 2, running: 0, completed: 1, failed: 0 })
  expect(lastRunAt).toBe(70)
  expect((await counts(context, {})).states).toMatchObject({ pending: 3, completed: 1, failed: 2, missed: 0 })
  expect((await counts(context, { job: 'none' })).states.pending).toBe(0)
})

it('a success ends the failures before it, folded or not', async () => {
  const { context, insert } = await twoJobs()
  const failures = async () => {
    const { failuresInRow, failing } = await counts(context, { tenant: 'acme', job: 'mail', failing: 1 })
    expect(failing).toEqual(failuresInRow > 0 ? [{ tenant: 'acme', job: 'mail' }] : [])
    return failuresInRow
  }
  await insert({ series: 1, failures: 2 }, { series: 2, failures: 1 })
  expect(await failures()).toBe(2)
  await fold(context)
  await insert({ series: 1, failures: 1 })
  expect(await failures()).toBe(3)
  await insert({ series: 1, succeeded: true, failures: 1 }, { series: 1, failures: 1 })
  expect(await failures()).toBe(2)
  await fold(context)
  expect(await failures()).toBe(2)
  await insert({ series: 1, succeeded: true })
  await fold(context)
  expect(await failures()).toBe(0)
  expect((await counts(context, { job: 'mail' })).failuresInRow).toBe(1)
})

it('a fold changes no count and leaves no delta', async () => {
  const { context, insert } = await twoJobs()
  for (let i = 0; i < 10; i++) await insert({ series: 1, pending: 1, lastRunAt: i }, { series: 2, dead: 1 })
  const both = async () => [await counts(context, { tenants: 9, failing: 9 }), await counts(context, { job: 'mail', tenants: 9 })]
  const before = await both()
  expect(await fold(context)).toBe(20)
  expect(await both()).toEqual(before)
  expect(before[1]?.lastRunAt).toBe(9)
  expect(await fold(context)).toBe(0)
  expect(await context.db.rows('SELECT 1 FROM punctual.count_delta')).toEqual([])
})

it('a delta that is committed late is neither lost nor counted twice', async () => {
  const { context, insert } = await twoJobs()
  let commit = () => {}
  const isHeld = new Promise<void>((resolve) => {
    commit = resolve
  })
  let noteInserted = () => {}
  const isInserted = new Promise<void>((resolve) => {
    noteInserted = resolve
  })
  const late = context.db.transaction(async (session) => {
    await insertInto(session, { series: 1, pending: 1 })
    noteInserted()
    await isHeld
  })
  await isInserted
  await insert({ series: 1, pending: 10 })
  expect(await fold(context)).toBe(1)
  commit()
  await late
  expect((await counts(context, {})).states.pending).toBe(11)
  expect(await fold(context)).toBe(1)
  expect((await counts(context, {})).states.pending).toBe(11)
})

it('folds at the same time add each delta once', async () => {
  const { context, insert } = await twoJobs()
  const writers = Array.from({ length: 40 }, () => insert({ series: 1, pending: 1 }, { series: 2, pending: 1 }))
  const folds = Array.from({ length: 20 }, () => fold(context))
  await Promise.all([...writers, ...folds])
  while ((await fold(context)) > 0);
  expect(await context.db.rows('SELECT pending FROM punctual.series ORDER BY ref')).toEqual([{ pending: 40 }, { pending: 40 }])
})

it('while one folds, another does not wait for it', async () => {
  const { context, insert } = await twoJobs()
  await insert({ series: 1, pending: 1 })
  await context.db.transaction(async (session) => {
    await session.rows(`SELECT pg_advisory_xact_lock(hashtext('punctual.count_delta'))`)
    expect(await fold(context)).toBe(0)
  })
  expect(await fold(context)).toBe(1)
})

interface Delta {
  readonly series: number
  readonly pending?: number
  readonly running?: number
  readonly dead?: number
  readonly completed?: number
  readonly failed?: number
  readonly lastRunAt?: number
  readonly succeeded?: boolean
  readonly failures?: number
}

async function twoJobs(): Promise<{ context: Context; insert: (...deltas: Delta[]) => Promise<void> }> {
  const context = await postgresContext()
  await context.names.addSeries([{ tenant: 'acme', job: 'mail' }])
  await context.names.addSeries([{ tenant: 'globex', job: 'mail' }])
  const insert = async (...deltas: Delta[]) => {
    for (const delta of deltas) await insertInto(context.db, delta)
  }
  return { context, insert }
}

async function insertInto(session: Session, { series, ...delta }: Delta): Promise<void> {
  const {
    pending = 0,
    running = 0,
    dead = 0,
    completed = 0,
    failed = 0,
    lastRunAt = null,
    succeeded = false,
    failures = 0,
  } = delta
  await session.rows(
    `INSERT INTO punctual.count_delta (series, pending, running, dead, completed, failed, last_run_at, succeeded, failures)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [series, pending, running, dead, completed, failed, lastRunAt, succeeded, failures],
  )
}
