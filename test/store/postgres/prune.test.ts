import { expect, it } from 'vitest'
import { postgresScene } from '../../support/postgres-scene.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

it('ends that claims stand on are not looked at again and again while others could go', async () => {
  const { scene, schema, url } = await postgresScene()
  const prune = () => scene.store.prune({ endedBefore: scene.now + 1, keyRetentionMs: 0, limit: 3 })
  const endsLeft = async () =>
    (await queryOnce<{ many: number }>(url, `SELECT count(*)::int AS many FROM ${schema}.turn`))[0]?.many
  await scene.join()
  const endAll = async (many: number, done: boolean) => {
    await scene.store.create(Array.from({ length: many }, () => scene.row()))
    const holding = await scene.claim({ limit: many })
    const items = holding.members.map((_, at) => scene.settleItem(holding, 'completed', at))
    await scene.store.settle(items, { done: done ? [holding.claim] : [] })
    return holding
  }
  const { claim } = await endAll(3, false)
  await endAll(2, true)
  expect([await prune(), await prune(), await prune()].map(({ pruned }) => pruned)).toEqual([3, 2, 0])
  expect(await endsLeft()).toBe(3)
  await scene.store.settle([], { done: [claim] })
  await prune()
  expect(await endsLeft()).toBe(0)
})

it('what has ended is found at once, however many handles before it are of work that is still to come', async () => {
  const { scene, schema, url } = await postgresScene()
  const young = await scene.completed()
  await queryOnce(url, `ALTER SEQUENCE ${schema}.occurrence_ref_seq RESTART WITH 10000000`)
  const old = await scene.completed()
  await queryOnce(url, `UPDATE ${schema}.turn SET ended_at = ended_at - 1000 WHERE ref >= 10000000`)
  expect(await scene.store.prune({ endedBefore: scene.now - 500, keyRetentionMs: 0, limit: 10 })).toEqual({
    pruned: 1,
    more: false,
  })
  expect([await scene.store.get({ id: old }), (await scene.store.get({ id: young }))?.record.id]).toEqual([null, young])
})

it('all that may go does, one call after the other, also behind what has ended too lately', async () => {
  const { scene, endedAgo } = await sparseHistory()
  for (const at of [0, 1000, 1000, 1000, 1000, 1000, 0, 1000]) await endedAgo(at)
  const prune = () => scene.store.prune({ endedBefore: scene.now - 500, keyRetentionMs: 0, limit: 2 })
  expect([await prune(), await prune(), await prune()]).toEqual([
    { pruned: 2, more: true },
    { pruned: 2, more: true },
    { pruned: 2, more: true },
  ])
  expect(await prune()).toEqual({ pruned: 0, more: false })
  expect((await scene.store.counts({})).states.completed).toBe(2)
})

it('any number of dead letters is passed by', async () => {
  const { scene, endedAgo, skipHandles } = await sparseHistory()
  for (let many = 0; many < 25; many++) {
    await scene.dead()
    await skipHandles()
  }
  await endedAgo(1000)
  const prune = () => scene.store.prune({ endedBefore: scene.now - 500, keyRetentionMs: 0, limit: 2 })
  expect([await prune(), await prune()]).toEqual([
    { pruned: 0, more: true },
    { pruned: 1, more: false },
  ])
})

it('TM-17 a rule reaches records behind any number of others of its job that stay', async () => {
  const { scene, schema, url } = await postgresScene()
  const kept = await scene.running({ job: 'report' })
  await scene.settle(kept, 'failed')
  const copies = 45_000
  const [{ ref } = { ref: 0 }] = await queryOnce<{ ref: number }>(
    url,
    `WITH o AS (INSERT INTO ${schema}.occurrence (ref, scheduled_at, created_at, id, series, form)
        SELECT ref + n, scheduled_at, created_at, gen_random_uuid(), series, form FROM ${schema}.occurrence, generate_series(1, ${copies}) n)
      INSERT INTO ${schema}.turn (ref, ended_at, started_at, due_at, turn, series, "end")
        SELECT ref + n, ended_at, started_at, due_at, turn, series, "end" FROM ${schema}.turn, generate_series(1, ${copies}) n
        RETURNING ref::int`,
  )
  expect(ref).toBeGreaterThan(0)
  await queryOnce(url, `ALTER SEQUENCE ${schema}.occurrence_ref_seq RESTART WITH 1000000`)
  const ended = [await scene.completed({ job: 'report' }), await scene.completed({ job: 'report' })]
  const { tenant, job } = (await scene.store.get({ id: kept.id }))?.record ?? { tenant: '', job: '' }
  const rules = [
    { tenant, job, ends: { completed: { endedBefore: null, count: 1 }, failed: { endedBefore: null, count: null } } },
  ]
  expect((await scene.store.get({ id: ended[0] as string }))?.record.job).toBe(job)
  const prune = async () => (await scene.store.prune({ endedBefore: null, keyRetentionMs: 0, limit: 10, rules })).pruned
  expect([await prune(), await prune(), await prune()]).toEqual([0, 1, 0])
  expect(await scene.store.get({ id: ended[0] as string })).toBeNull()
  expect(await scene.store.get({ id: ended[1] as string })).not.toBeNull()
})

/** Handles so far from each other that each look sees one of them. */
async function sparseHistory() {
  const { scene, schema, url } = await postgresScene()
  let last = 0
  const skipHandles = () => {
    last += 100_000
    return queryOnce(url, `ALTER SEQUENCE ${schema}.occurrence_ref_seq RESTART WITH ${last}`)
  }
  /** One that ended so many ms ago. */
  const endedAgo = async (agoMs: number) => {
    await scene.completed()
    await queryOnce(
      url,
      `UPDATE ${schema}.turn SET ended_at = ended_at - ${agoMs} WHERE ref = (SELECT max(ref) FROM ${schema}.turn)`,
    )
    await skipHandles()
  }
  return { scene, endedAgo, skipHandles }
}
