import { createPunctual, defineJob } from 'punctual'
import { probe } from 'punctual/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { postgres } from '../../../src/store/postgres/index.ts'
import type { Hint } from '../../../src/store/store.ts'
import { systemClock } from '../../../src/time/clock.ts'
import { onEmptiedTables } from '../../support/emptied-tables.ts'
import { patiently } from '../../support/patiently.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { registerStoreSuite } from '../../support/register-store-suite.ts'
import { isLeftOut, pgbouncer as needed } from '../../support/servers/needed.ts'
import { type Pgbouncer, startPgbouncer } from '../../support/servers/pgbouncer.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

let direct: string
let pgbouncer: Pgbouncer

describe.skipIf(isLeftOut(needed))('through pgbouncer in transaction mode', () => {
  beforeAll(async () => {
    direct = await sharedPostgresUrl()
    // With one connection for all, whoever needed a second one in the middle of a transaction would wait for ever.
    pgbouncer = await startPgbouncer({ url: direct }, { poolSize: 1 })
  })
  afterAll(() => pgbouncer?.stop())

  registerStoreSuite({
    name: 'pgbouncer',
    open: onEmptiedTables((schema) => postgres(pgbouncer.url, { schema, prepare: false, listenUrl: direct })),
  })

  it('notifications come by the direct URL', async () => {
    const schema = freshSchemaName()
    const [teller, hearer] = [await open(schema, direct), await open(schema, direct)]
    const heard: Hint[] = []
    hearer.hints.subscribe((hint) => heard.push(hint))
    await vi.waitFor(async () => expect(await listening(schema)).toHaveLength(1), patiently)
    await teller.pause({ tenant: 'acme', job: null, open: { until: null, reason: null, by: null } })
    await vi.waitFor(() => expect(heard).toContainEqual({ kind: 'job' }), patiently)
  })

  it('without notifications work is found by looking', async () => {
    const schema = freshSchemaName()
    const store = () => postgres(pgbouncer.url, { schema, prepare: false, listenUrl: false })
    const mail = defineJob('mail').task('send', () => 'sent')
    await using node = createPunctual({ store: store(), jobs: [mail], log: silent })
    const completed = probe(node).next('occurrence.completed')
    await node.start()
    await using client = createPunctual({ store: store(), log: silent })
    const { id } = await client.enqueue('mail')
    expect((await completed).id).toBe(id)
    expect(await listening(schema)).toEqual([])
  })

  it('named statements are refused with what to do', async () => {
    const refusal = { code: 'store.unsupported', message: expect.stringContaining('prepare: false') }
    await expect(postgres(pgbouncer.url, { schema: freshSchemaName() }).open(env)).rejects.toMatchObject(refusal)
  })
})

const env = { clock: systemClock, random: () => 0 }
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

async function open(schema: string, listenUrl: string) {
  const store = postgres(pgbouncer.url, { schema, prepare: false, listenUrl })
  await store.open(env)
  onTestFinished(() => store.close())
  return store
}

function listening(schema: string) {
  return queryOnce(direct, 'SELECT pid FROM pg_stat_activity WHERE query = $1', [`LISTEN "punctual_${schema}"`])
}
