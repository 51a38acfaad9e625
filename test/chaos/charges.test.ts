// A program charges cards through ctx.once and is killed by SIGKILL at random: PUNCTUAL_KILLS times on each store, 10 by default.
import { expect, it, onTestFinished } from 'vitest'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual, type Punctual } from '../../src/client/punctual.ts'
import { seededRandom } from '../../src/testing/store-suite/seeded-random.ts'
import { databasePath } from '../support/database-path.ts'
import { FakeBank, type KillPoint } from '../support/fake-bank.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { spawnWorker, type WorkerProcess } from '../support/worker-process.ts'
import { pay } from './charge-job.ts'

const kills = Number(process.env.PUNCTUAL_KILLS ?? 10)
const points = ['before', 'booked', 'answered', null, null, null] as const satisfies readonly KillPoint[]
/** Each kill costs the start of a process, which takes many seconds on a machine that is busy. */
const longestMs = 120_000 + kills * 30_000
const silent = { debug() {}, info() {}, warn() {}, error() {} }

const urls = {
  sqlite: async () => `sqlite:${databasePath()}`,
  postgres: async () => {
    const url = new URL(await sharedPostgresUrl())
    url.searchParams.set('schema', freshSchemaName())
    return url.href
  },
}

it.each(Object.keys(urls) as (keyof typeof urls)[])(
  'BL-6 a card is charged once per order on %s, however often the process is killed',
  { timeout: longestMs },
  async (store) => {
    const random = seededRandom(kills)
    // Two of three charges: at one of the points, or at any moment of the record of the charge and of what follows it.
    const anyPoint = () => points[Math.floor(random() * points.length)] ?? (random() < 1 / 3 ? random() * 40 : null)
    const bank = new FakeBank(() => (bank.kills < kills ? anyPoint() : null))
    process.env.BANK = await bank.open()
    onTestFinished(() => bank.close())
    const url = await urls[store]()
    const client = createPunctual({ store: await openStoreUrl(url), jobs: [pay], log: silent })
    onTestFinished(() => client.close())
    const orders = Array.from({ length: 2 * kills + 4 }, (_, i) => ({ order: `order-${i}`, isChecked: i % 2 === 0 }))
    for (const payload of orders) await client.enqueue(pay, payload, { idempotencyKey: payload.order })
    const crew = new Crew(url, 2)
    onTestFinished(() => crew.stop())
    crew.start()
    await untilEnded(client, bank, async (dead) => {
      // Nothing is silently unknown: what nobody knows is listed, and resolved by what the bank says.
      for (const { scope, key } of (await client.gates({ state: 'unknown', limit: 500 })).items) {
        const held = await client.get(scope)
        if (held?.state !== 'dead') continue
        const found = bank.charges.find(({ order }) => order === held.idempotencyKey)
        const resolution = found ? { happened: true, result: { id: found.id } } : { happened: false }
        await client.resolveGate({ scope, key }, { ...resolution, by: 'ada', reason: 'the statement of the bank' })
      }
      for (const id of dead) await client.retry(id, { by: 'ada' })
    })
    const charged = orders.map(({ order }) => bank.charges.filter((charge) => charge.order === order).length)
    expect(charged).toEqual(orders.map(() => 1))
    // The other worker may have been marked before the last kill.
    expect(bank.kills).toBeGreaterThanOrEqual(kills)
    const paid = await auditedOrders(client)
    expect(paid.toSorted()).toEqual(orders.map(({ order }) => order).toSorted())
    expect((await client.gates({ state: 'unknown' })).items).toEqual([])
    expect((await client.verifyAudit()).faults).toEqual([])
  },
)

/** Keeps so many workers running: one that was killed is replaced. */
class Crew {
  readonly #url: string
  readonly #size: number
  readonly #workers = new Set<WorkerProcess>()
  #isStopped = false

  constructor(url: string, size: number) {
    this.#url = url
    this.#size = size
  }

  start(): void {
    while (!this.#isStopped && this.#workers.size < this.#size) {
      const worker = spawnWorker(new URL('./charge.process.ts', import.meta.url), this.#url)
      this.#workers.add(worker)
      worker.ended.then(() => {
        this.#workers.delete(worker)
        this.start()
      })
    }
  }

  stop(): void {
    this.#isStopped = true
    for (const { child } of this.#workers) child.kill('SIGKILL')
  }
}

/** Waits until all orders are completed; `attend` gets the ids of those that are dead. */
async function untilEnded(client: Punctual, bank: FakeBank, attend: (dead: readonly string[]) => Promise<void>): Promise<void> {
  await expect
    .poll(
      async () => {
        const dead = (await client.list({ job: pay, state: 'dead', limit: 500 })).items.map(({ id }) => id)
        if (dead.length > 0) await attend(dead)
        const { pending, waiting, running, retrying, dead: left } = await client.counts({ job: pay })
        // Kills that are left need work to be killed at.
        if (pending + waiting + running + retrying + left === 0 && bank.kills < kills)
          throw new Error('no work is left to be killed')
        return pending + waiting + running + retrying + left
      },
      { timeout: longestMs, interval: 200 },
    )
    .toBe(0)
}

async function auditedOrders(client: Punctual): Promise<string[]> {
  const orders: string[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Awaited<ReturnType<Punctual['audit']>> = await client.audit({
      event: 'order.paid',
      limit: 500,
      ...(cursor !== undefined && { cursor }),
    })
    orders.push(...page.items.map(({ refs }) => refs.order as string))
    cursor = page.cursor
  }
  return orders
}
