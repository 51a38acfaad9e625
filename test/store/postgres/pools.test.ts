import { expect, it, onTestFinished, vi } from 'vitest'
import { makePools } from '../../../src/store/postgres/connection/pools.ts'
import { createDatabase, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

async function settingsWith(options: string | null, database = sharedPostgresUrl()) {
  const url = new URL(await database)
  if (options !== null) url.searchParams.set('options', options)
  const pools = makePools(url.href, { prepare: true })
  onTestFinished(async () => void (await Promise.all(pools.own.map((pool) => pool.end()))))
  const { rows } = await pools.verbs.query(
    `SELECT current_setting('plan_cache_mode') AS plans, current_setting('statement_timeout') AS most, current_setting('jit') AS jit`,
  )
  return rows[0]
}

it('settings in the URL are added to those that the store needs, and win where both name the same', async () => {
  expect(await settingsWith('-c statement_timeout=1234 -c jit=on')).toEqual({
    plans: 'force_generic_plan',
    most: '1234ms',
    jit: 'on',
  })
})

it('so are those in the environment', async () => {
  vi.stubEnv('PGOPTIONS', '-c statement_timeout=2345')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(await settingsWith(null, compilingDatabase())).toEqual({ plans: 'force_generic_plan', most: '2345ms', jit: 'off' })
})

/** Compiles plans, as servers do by themselves. */
async function compilingDatabase(): Promise<string> {
  const url = await createDatabase()
  await queryOnce(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET jit = on`)
  return url
}
