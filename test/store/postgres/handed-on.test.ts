import { expect, it } from 'vitest'
import { concurrency } from '../../../src/testing/store-suite/keys.ts'
import { type Holding, memberRef, type Scene } from '../../../src/testing/store-suite/scene.ts'
import { postgresScene } from '../../support/postgres-scene.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

const endAndClaim = (scene: Scene, holding: Holding, request = scene.claimRequest()) =>
  scene.store.settle([{ ...memberRef(holding), end: scene.end('completed'), attempts: [], delayMs: 0 }], {
    done: [holding.claim],
    claim: request,
  })

it('a slot that is handed on changes neither the count of its key nor a row of freed slots', async () => {
  const { scene, schema, url } = await postgresScene()
  await scene.join()
  await scene.createAll([scene.row({ limits: concurrency(1) }), scene.row({ limits: concurrency(1) })])
  const first = await scene.claim()
  const written = `SELECT (SELECT xmin::text FROM "${schema}".limit_key) AS version,
    (SELECT last_value::int FROM "${schema}".release_seq_seq) AS releases`
  const before = await queryOnce(url, written)
  const { claimed } = await endAndClaim(scene, first)
  expect(claimed?.members).toHaveLength(1)
  expect(await queryOnce(url, written)).toEqual(before)
})

it('ends are undone together with a claim that is refused', async () => {
  const { scene } = await postgresScene()
  await scene.join()
  await scene.createAll([scene.row({ limits: concurrency(1) }), scene.row({ limits: concurrency(1) })])
  const first = await scene.claim()
  await expect(endAndClaim(scene, first, scene.claimRequest({ node: 'nobody' }))).rejects.toMatchObject({ code: 'claim.lost' })
  expect(await scene.store.get({ id: first.members[0]?.record.id as string })).toMatchObject({ state: 'running' })
  const { items, claimed } = await endAndClaim(scene, first)
  expect(items).toEqual(['ok'])
  expect(claimed?.members).toHaveLength(1)
})
