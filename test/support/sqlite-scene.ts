import type { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import { type SqliteOptions, sqlite } from '../../src/store/sqlite/index.ts'
import { memberRef, Scene } from '../../src/testing/store-suite/scene.ts'
import { databasePath } from './database-path.ts'

/** An empty SQLite file at a standing clock, closed and removed when the test has finished. */
export async function sqliteScene(path = databasePath(), options: SqliteOptions = {}): Promise<Scene> {
  const scene = await Scene.open({
    place: path,
    lacks: {},
    open: async (env) => {
      const store = sqlite(path, options)
      await store.open(env)
      return store
    },
  })
  onTestFinished(() => scene.close())
  return scene
}

/** Runs `work` with the store's own connection, as the work of a task's transaction. */
export async function withinTransaction<T>(scene: Scene, work: (db: DatabaseSync) => T): Promise<T> {
  const holding = await scene.running()
  const answer: T[] = []
  const within = (tx: unknown) => {
    answer.push(work(tx as DatabaseSync))
    return null
  }
  await scene.store.checkpoint([{ ...memberRef(holding), attempts: [], within }])
  return answer[0] as T
}
