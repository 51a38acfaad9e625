// A node on PostgreSQL that stops in its first attempt, inside or after its transaction:
// transaction-postgres.process.ts URL SCHEMA
import type { PoolClient } from 'pg'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { say } from '../chaos/say.ts'

const [url = '', schema = ''] = process.argv.slice(2)

const ledger = defineJob<string>('ledger').task('book', async ({ transaction, attempt, payload }) => {
  const standStill = async (where: string) => {
    if (attempt > 1 || payload !== where) return
    say(where, {})
    await new Promise(() => {})
  }
  await transaction(async (tx: PoolClient) => {
    await tx.query(`INSERT INTO ${schema}.effect (text) VALUES ($1)`, [`try ${attempt}`])
    await standStill('inside')
  })
  await standStill('after')
})

const punctual = createPunctual({
  store: postgres(url, { schema }),
  jobs: [ledger],
  node: { heartbeat: 100, timeout: 1000, checkInterval: 50 },
})
punctual.on('occurrence.completed', ({ id }) => say('completed', { id }))
await punctual.start()
