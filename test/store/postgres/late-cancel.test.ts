import { expect, it, vi } from 'vitest'
import type { Queryable } from '../../../src/store/store.ts'
import type { Holding } from '../../../src/testing/store-suite/scene.ts'
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
  await vi.waitFor(async () => expect(await queryOnce(url, waiting)).toHaveLength(1))
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
