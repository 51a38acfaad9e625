import { Client } from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { postgresScene } from '../../support/postgres-scene.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

it('a cancel that comes while an end waits for it leaves nothing behind', async () => {
  const { scene, schema, url } = await postgresScene()
  const holding = await scene.running()
  const tx = new Client(url)
  await tx.connect()
  onTestFinished(() => tx.end())
  await tx.query('BEGIN')
  const id = holding.members[0]?.record.id as string
  expect(await scene.store.cancel({ which: { id }, reason: null }, tx)).toMatchObject([{ outcome: 'canceling' }])
  const settled = scene.settle(holding, 'completed')
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}".turn%'`
  await vi.waitFor(async () => expect(await queryOnce(url, waiting)).toHaveLength(1))
  await tx.query('COMMIT')
  await settled
  expect((await scene.store.get({ id }))?.state).toBe('completed')
  expect(await queryOnce(url, `SELECT ref FROM ${schema}.cancel_request`)).toEqual([])
})
