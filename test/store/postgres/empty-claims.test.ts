import { expect, it } from 'vitest'
import { postgresScene } from '../../support/postgres-scene.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

it('a claim writes only when it finds work', async () => {
  const { scene, schema, url } = await postgresScene()
  await scene.join()
  const locker = async () => {
    const [row] = await queryOnce<{ xmax: string }>(url, `SELECT xmax::text FROM "${schema}".node`)
    return row?.xmax
  }
  expect((await scene.claim()).members).toEqual([])
  expect(await locker()).toBe('0')
  await scene.create()
  expect((await scene.claim()).members).toHaveLength(1)
  expect(await locker()).not.toBe('0')
})
