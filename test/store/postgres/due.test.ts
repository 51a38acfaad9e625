import { beforeAll, expect, it } from 'vitest'
import { column } from '../../../src/store/postgres/arrays.ts'
import type { Context } from '../../../src/store/postgres/context.ts'
import { nextDue, nextDueLater, peek, waiting } from '../../../src/store/postgres/due.ts'
import { seededRandom } from '../../../src/testing/store-suite/seeded-random.ts'
import { postgresContext } from '../../support/postgres-context.ts'

const now = 1_000_000

interface Row {
  readonly kind: number
  readonly priority: number
  readonly series: number
  readonly lane: number
  readonly dueAt: number
}

let context: Context
let rows: readonly Row[]

beforeAll(async () => {
  context = await postgresContext(now)
  const { db, dictionary } = context
  // Kind 2 has lanes, kind 3 has got some besides what came before, kind 4 has nothing.
  for (const kind of ['a', 'b', 'c', 'd']) await dictionary.addKinds([0, 5, 9].map((priority) => ({ kind, priority })))
  await db.all('UPDATE punctual.kind SET laned = true WHERE ref IN (2, 3)')
  for (const tenant of ['x', 'y', 'z']) for (const job of ['m', 'n']) await dictionary.addSeries([{ tenant, job }])
  const random = seededRandom(3)
  rows = Array.from({ length: 8000 }, (): Row => {
    const kind = 1 + Math.floor(random() * 3)
    const series = 1 + Math.floor(random() ** 3 * 6)
    const hasLane = kind === 2 || (kind === 3 && random() < 0.5)
    const dueAt = now - 500 + Math.floor(random() * 1000)
    return { kind, series, dueAt, priority: [0, 5, 9][Math.floor(random() * 3)] as number, lane: hasLane ? series : 0 }
  })
  await db.all(
    `INSERT INTO punctual.ready (kind, priority, lane, due_at, series, ref, turn, planned, retrying, limited)
      SELECT kind, priority, lane, due_at, series, ref, 1, false, false, false
      FROM unnest($1::int[], $2::smallint[], $3::int[], $4::float8[], $5::int[]) WITH ORDINALITY r (kind, priority, lane, due_at, series, ref)`,
    (['kind', 'priority', 'lane', 'dueAt', 'series'] as const).map((name) => column(rows.map((row) => row[name]))),
  )
})

const kindSets = [[1], [2], [3], [4], [1, 2, 3, 4], []]

it.each(kindSets)('the next due of kinds %j, with and without what is due already', async (...kinds) => {
  const dues = rows.filter(({ kind }) => kinds.includes(kind)).map(({ dueAt }) => dueAt)
  expect(await nextDue(context.db, context, kinds)).toBe(least(dues))
  expect(await nextDueLater(context.db, context, kinds, now)).toBe(least(dues.filter((dueAt) => dueAt > now)))
})

it('what wakes by itself counts as due then', async () => {
  await context.db.transaction(async (session) => {
    await session.all(
      `INSERT INTO punctual.waiting (kind, priority, lane, due_at, series, ref, turn, planned, retrying, limited, reason, wake_at)
        VALUES (4, 5, 0, 1, 1, 9000, 1, false, false, true, 'rate', ${now + 7}), (4, 5, 0, 1, 1, 9001, 1, false, false, true, 'pause', NULL)`,
    )
    expect(await nextDue(session, context, [4])).toBe(now + 7)
    expect(await nextDueLater(session, context, [2, 4], now)).toBe(now + 1)
    await session.all('DELETE FROM punctual.waiting')
  })
})

it('kinds that nobody has ever seen have nothing due', async () => {
  expect(await peek(context, { kinds: ['nobody', 'd'] })).toEqual({ now, nextDue: null })
  expect(await waiting(context, { kinds: ['nobody'] })).toEqual([])
})

it('counts what is due by group, each up to a thousand', async () => {
  const names = new Map<string, number>()
  for (const { kind, series, priority, dueAt } of rows) {
    if (kind === 1 || dueAt > now) continue
    const { tenant, job } = context.dictionary.seriesByRef(series)
    const name = JSON.stringify([tenant, job, priority])
    names.set(name, (names.get(name) ?? 0) + 1)
  }
  const groups = await waiting(context, { kinds: ['b', 'c', 'd'] })
  expect(groups.map(({ tenant, job, priority, count }) => [JSON.stringify([tenant, job, priority]), count])).toEqual(
    [...names].sort().map(([name, count]) => [name, Math.min(1000, count)]),
  )
})

function least(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.min(...values)
}
