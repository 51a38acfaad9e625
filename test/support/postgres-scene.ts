import type { PoolClient } from 'pg'
import { onTestFinished } from 'vitest'
import { type PostgresOptions, postgres } from '../../src/store/postgres/index.ts'
import { memberRef, Scene } from '../../src/testing/store-suite/scene.ts'
import { freshSchemaName, sharedPostgresUrl } from './postgres-database.ts'

export interface PostgresScene {
  readonly scene: Scene
  readonly schema: string
  readonly url: string
}

/** Empty tables in a separate schema, with a clock that does not move. */
export async function postgresScene(options: PostgresOptions = {}): Promise<PostgresScene> {
  const schema = freshSchemaName()
  const url = await sharedPostgresUrl()
  const scene = await Scene.open({
    place: schema,
    lacks: {},
    open: async (env) => {
      const store = postgres(url, { schema, ...options })
      await store.open(env)
      return store
    },
  })
  onTestFinished(() => scene.close())
  return { scene, schema, url }
}

/** Runs `work` as that of the transaction of a task of new work. */
export async function withinTransaction(scene: Scene, work: (tx: PoolClient) => unknown): Promise<void> {
  const holding = await scene.running()
  const within = async (tx: unknown) => {
    await work(tx as PoolClient)
    return null
  }
  await scene.store.checkpoint([{ ...memberRef(holding), attempts: [scene.attempt({ state: 'succeeded' })], within }])
}
