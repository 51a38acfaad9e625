import { expect, it, vi } from 'vitest'
import type { Queryable } from '../../../src/store/store.ts'
import { type Holding, memberRef } from '../../../src/testing/store-suite/scene.ts'
import { patiently } from '../../support/patiently.ts'
import { postgresScene } from '../../support/postgres-scene.ts'
import { beginTransaction } from '../../support/postgres-transaction.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

it('a cancel that comes while an end waits for it leaves nothing behind', async () => {
  const { scene, schema, url } = await postgresScene()
  const holding = await scene.running()
  const tx = await beginTransaction(url)
  const id = holding.members[0]?.record.id as string
  expect(await scene.store.cancel({ which: { id }, reason: null }, tx)).toMatchObject([{ outcome: 'canceling' }])
  const settled = scene.settle(holding, 'completed')
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}".turn%'`
  await vi.waitFor(async () => expect(await queryOnce(url, waiting)).toHaveLength(1), patiently)
  await tx.query('COMMIT')
  await settled
  expect((await scene.store.get({ id }))?.state).toBe('completed')
})

it('a cancel of what is claimed while it looks for it reaches the claim', async () => {
  const { scene, schema, url } = await postgresScene()
  await scene.join()
  const id = await scene.create()
  const tx = await beginTransaction(url)
  let holding: Holding | null = null
  const interrupted: Queryable = {
    query: async (text, values) => {
      // By now it has looked for claims; here it goes for the place.
      if (text.includes(`"${schema}".waiting`)) holding ??= await scene.claim()
      return tx.query(text, [...values])
    },
  }
  expect(await scene.store.cancel({ which: { id }, reason: null }, interrupted)).toMatchObject([{ outcome: 'canceling' }])
  await tx.query('COMMIT')
  expect(await scene.settle(holding as unknown as Holding, 'completed')).toBe('ok')
})

it('TM-1 a child that is created while its parent is being canceled is found, or refused', async () => {
  const { scene, schema, url } = await postgresScene()
  const holding = await scene.running()
  const row = () => scene.row({ parent: holding.id, maker: memberRef(holding), due: { in: 60_000 } })
  const waiting = (table: string) =>
    vi.waitFor(async () => {
      const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}".${table}%'`
      expect(await queryOnce(url, sql)).not.toHaveLength(0)
    }, patiently)
  // A creation has locked the claim of its parent: the cancel waits until the child is there.
  const creation = await beginTransaction(url)
  const created = await scene.store.create([row()], { tx: creation })
  expect(created.rows).toMatchObject([{ outcome: 'created' }])
  const canceled = scene.store.cancel({ which: { id: holding.id }, reason: null, children: true })
  await waiting('cancel_1')
  await creation.query('COMMIT')
  await canceled
  expect(await scene.store.cancel({ which: { id: holding.id }, reason: null, children: true })).toMatchObject([
    { outcome: 'canceling' },
    { id: created.rows[0]?.id, outcome: 'canceled' },
  ])
})

it('TM-1 a child that waits for the cancel of its parent is refused', async () => {
  const { scene, schema, url } = await postgresScene()
  const holding = await scene.running()
  const cancel = await beginTransaction(url)
  await scene.store.cancel({ which: { id: holding.id }, reason: null }, cancel)
  const creation = await beginTransaction(url)
  const created = scene.store.create([scene.row({ parent: holding.id, maker: memberRef(holding) })], { tx: creation })
  const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}".claim%FOR SHARE%'`
  await vi.waitFor(async () => expect(await queryOnce(url, sql)).toHaveLength(1), patiently)
  await cancel.query('COMMIT')
  expect((await created).rows).toMatchObject([{ outcome: 'refused' }])
  await creation.query('COMMIT')
})
