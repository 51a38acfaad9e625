import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, it } from 'vitest'
import { sqlite } from '../../../src/store/sqlite/index.ts'
import type { StoreEnv } from '../../../src/store/store.ts'
import { checkRandomSteps } from '../../support/random-steps.ts'
import { registerStoreSuite } from '../../support/register-store-suite.ts'

const folder = mkdtempSync(join(tmpdir(), 'punctual-suite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

registerStoreSuite({
  name: 'sqlite',
  open: async (env, place) => {
    const store = sqlite(join(folder, `${encodeURIComponent(place)}.db`))
    await store.open(env)
    return store
  },
  lacks: {},
})

it('random steps in memory bring the same answers and the same state as the memory store', async () => {
  const open = async (env: StoreEnv) => {
    const store = sqlite(':memory:')
    await store.open(env)
    return store
  }
  await checkRandomSteps(open, { runs: 50 })
})
