import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../src/index.ts'
import type { Contestant, Load } from '../harness/contestant.ts'
import { payload } from '../harness/payload.ts'
import { punctualQueue } from '../harness/punctual-queue.ts'
import { onPostgres } from './contestant.ts'
import { onDatabase } from './database.ts'
import { fillHistory } from './fill-history.ts'

const schema = 'punctual'

/** Punctual as it comes: default options, full history. */
export const punctual: Contestant = onPostgres({
  name: 'Punctual',
  packages: [],
  async install(url) {
    const queue = punctualQueue(await storeOn(url))
    await queue.work(() => {})
    await queue.close()
  },
  loadPlace: load,
  open: async (url) => punctualQueue(await storeOn(url)),
})

async function load(url: string, counts: Load): Promise<void> {
  const queue = punctualQueue(await storeOn(url))
  await queue.work(() => {})
  await queue.enqueue({ payload: payload(0) })
  while (!(await queue.isDrained(0))) await sleep(10)
  await queue.enqueueMany([{ payload: payload(0), dueAt: Date.now() + 30 * 86_400_000 }])
  await queue.close()
  await onDatabase(url, (client) => fillHistory(client, schema, counts))
}

type Postgres = (url: string, options: { schema: string }) => Store

/** Loaded when it is needed: peers can be measured alone. */
async function storeOn(url: string): Promise<Store> {
  const { postgres } = (await import(new URL('../../src/store/postgres/index.ts', import.meta.url).href)) as {
    postgres: Postgres
  }
  return postgres(url, { schema })
}
