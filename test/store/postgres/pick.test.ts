import { expect, it } from 'vitest'
import { postgresScene } from '../../support/postgres-scene.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

it('the first node that picks makes an index for it, and others do not', async () => {
  const { scene, schema, url } = await postgresScene()
  const indexes = () => queryOnce(url, `SELECT 1 FROM pg_indexes WHERE schemaname = '${schema}' AND indexname = 'ready_pick'`)
  await scene.join()
  expect(await indexes()).toHaveLength(0)
  await scene.join('node-2', { picks: true })
  await scene.join('node-3', { picks: true })
  expect(await indexes()).toHaveLength(1)
})
