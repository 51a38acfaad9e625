import { describe, expect, it, onTestFinished } from 'vitest'
import { defineJob } from '../../../src/model/definition.ts'
import { Database, type Follow } from '../../../src/store/postgres/database.ts'
import { postgres } from '../../../src/store/postgres/index.ts'
import type { Hint } from '../../../src/store/store.ts'
import { idsOf, type Scene } from '../../../src/testing/store-suite/scene.ts'
import { newCluster } from '../../support/cluster.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { postgresScene } from '../../support/postgres-scene.ts'

/** What is heard in the process, in order. */
function hear(scene: Scene): Hint[] {
  const heard: Hint[] = []
  scene.store.subscribe((hint) => heard.push(hint))
  return heard
}

describe('a claim for work that is just being made', () => {
  it('goes behind it, finds it, and is answered after it; nobody here is told a second time', async () => {
    const { scene } = await postgresScene()
    await scene.join()
    // From now on names are known, and nothing is asked before the work is made.
    await scene.completed()
    const heard: Hint[] = []
    const order: string[] = []
    const claimed = Promise.withResolvers<readonly string[]>()
    scene.store.subscribe((hint) => {
      heard.push(hint)
      void scene.claim().then((holding) => {
        order.push('claimed')
        claimed.resolve(idsOf(holding))
      })
    })
    const id = await scene.create()
    order.push('made')
    expect(await claimed.promise).toEqual([id])
    expect(order).toEqual(['made', 'claimed'])
    expect(heard).toEqual([{ kind: 'due', at: scene.now }])
  })

  it.each([
    ['by a limit of the cluster', { clusterLimit: 5 }],
    ['by shares', { pick: { kind: 'fair' } }],
    ['for what was due before', { dueBy: 0 }],
  ] as const)('goes for itself when it is %s, and is asked for again', async (_, request) => {
    const { scene } = await postgresScene()
    await scene.join()
    await scene.completed()
    const heard: Hint[] = []
    const claims: Promise<unknown>[] = []
    scene.store.subscribe((hint) => {
      heard.push(hint)
      claims.push(scene.claim(request))
    })
    await scene.create()
    await Promise.all(claims)
    expect(heard).toHaveLength(2)
  })

  it('is asked for again when none was sent behind it', async () => {
    const { scene } = await postgresScene()
    const heard = hear(scene)
    await scene.create()
    expect(heard).toEqual([
      { kind: 'due', at: scene.now },
      { kind: 'due', at: scene.now },
    ])
  })

  it('is not asked for early where the work is due later, or may have to wait for another', async () => {
    const { scene } = await postgresScene()
    const heard = hear(scene)
    await scene.create({ due: scene.now + 1 })
    await scene.create({ key: 'a' })
    expect(heard).toEqual([
      { kind: 'due', at: scene.now + 1 },
      { kind: 'due', at: scene.now },
    ])
  })

  it('does not start it before its enqueue is answered', async () => {
    const [url, schema] = [await sharedPostgresUrl(), freshSchemaName()]
    const { node } = newCluster({ connect: () => postgres(url, { schema }) })
    const order: unknown[] = []
    const job = defineJob('work').task('only', ({ payload }) => void order.push(`ran ${payload}`))
    const { punctual, probe } = await node({ jobs: [job] })
    onTestFinished(() => punctual.close())
    for (const n of [1, 2, 3]) {
      const completed = probe.next('occurrence.completed')
      await punctual.enqueue(job, n)
      order.push(`enqueued ${n}`)
      await completed
    }
    expect(order).toEqual(['enqueued 1', 'ran 1', 'enqueued 2', 'ran 2', 'enqueued 3', 'ran 3'])
  })
})

it('a statement that comes too late to follow another goes by itself', async () => {
  const db = new Database(await sharedPostgresUrl(), { schema: 'none', prepare: true })
  onTestFinished(() => db.close())
  const pid = 'SELECT pg_backend_pid() AS pid'
  const kept: Follow[] = []
  const behind: Promise<unknown>[] = []
  const leading = db.leading((follow) => {
    kept.push(follow)
    behind.push(follow(pid))
  })
  const led = await leading.all(pid)
  expect(await Promise.all(behind)).toEqual([led])
  const [follow] = kept as [Follow]
  expect(await follow('SELECT 1 AS one')).toEqual([[1]])
  await expect(follow('SELECT 1/0 AS none')).rejects.toThrow('division by zero')
  expect(await db.all('SELECT 2 AS two')).toEqual([[2]])
})
