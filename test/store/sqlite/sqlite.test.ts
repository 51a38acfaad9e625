import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { sqlite } from '../../../src/store/sqlite/index.ts'
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
})
