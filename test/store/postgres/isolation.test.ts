import { expect, it, onTestFinished } from 'vitest'
import { postgres } from '../../../src/store/postgres/index.ts'
import { memberRef, Scene } from '../../../src/testing/store-suite/scene.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'

it.each(['repeatable read', 'serializable'])(
  'a turn that was taken away is seen to be, where the default of the database is %s',
  async (level) => {
    const settings = ['jit=off', `default_transaction_isolation=${level.replace(' ', '\\ ')}`]
    const options = encodeURIComponent(settings.map((setting) => `-c ${setting}`).join(' '))
    const url = `${await sharedPostgresUrl()}?options=${options}`
    const scene = await Scene.open({
      place: freshSchemaName(),
      lacks: {},
      open: async (env, schema) => {
        const store = postgres(url, { schema, prepare: false })
        await store.open(env)
        return store
      },
    })
    onTestFinished(() => scene.close())
    await scene.join()
    await scene.create()
    await scene.create()
    const holding = await scene.claim()
    const within = async () => {
      expect(await scene.settle(holding, 'canceled', { done: false })).toBe('ok')
      return null
    }
    const attempts = [scene.attempt({ state: 'succeeded', error: null })]
    expect(await scene.store.checkpoint([{ ...memberRef(holding), attempts, within }])).toEqual(['lost'])
  },
)
