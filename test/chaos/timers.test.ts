import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Broker, Channel } from '../../src/broker/broker.ts'
import { nats } from '../../src/broker/nats/index.ts'
import { rabbitmq } from '../../src/broker/rabbitmq/index.ts'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual, type Punctual } from '../../src/client/punctual.ts'
import { timerJob } from '../../src/client/timers-overview.ts'
import type { BrokerServer } from '../../src/testing/broker-suite.ts'
import { seededRandom } from '../../src/testing/store-suite/seeded-random.ts'
import { databasePath } from '../support/database-path.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { startNats } from '../support/servers/nats.ts'
import { isLeftOut, nats as neededNats, rabbitmq as neededRabbitmq } from '../support/servers/needed.ts'
import { startRabbitmq } from '../support/servers/rabbitmq.ts'

const commands: Channel = { name: 'timers.commands', kind: 'queue' }
const events: Channel = { name: 'timers.events', kind: 'topic' }
/** Timers per round, and rounds; each round kills something. More, on all four pairs: SEEDS=20, SEED=100, ROUNDS=10, TIMERS=400; on one: PAIR=rabbitmq,sqlite. */
const perRound = Number(process.env.TIMERS ?? 100)
const rounds = Number(process.env.ROUNDS ?? 2)
const seeds = Array.from({ length: Number(process.env.SEEDS ?? 1) }, (_, n) => n + Number(process.env.SEED ?? 1))

interface Server extends BrokerServer {
  readonly url: string
  stop(): Promise<void>
}

const brokers = {
  nats: { needed: neededNats, start: (): Promise<Server> => startNats(), connect: nats },
  rabbitmq: {
    needed: neededRabbitmq,
    start: (): Promise<Server> => startRabbitmq(),
    // The test makes the queues, of the type that RabbitMQ 3.10 brings back after a kill.
    connect: (url: string) => rabbitmq({ url, queueType: 'classic' }),
  },
}

const stores = {
  sqlite: async () => `sqlite:${databasePath()}`,
  postgres: async () => {
    const url = new URL(await sharedPostgresUrl())
    url.searchParams.set('schema', freshSchemaName())
    return url.href
  },
}

const short = [['nats', 'sqlite'] as const, ['rabbitmq', 'postgres'] as const]
const all = [...short, ['nats', 'postgres'] as const, ['rabbitmq', 'sqlite'] as const]
const { PAIR: pair, SEEDS: more } = process.env
const cases = pair ? all.filter((one) => one.join() === pair) : more ? all : short
if (cases.length === 0) throw new Error(`PAIR must be one of ${all.join(' ')}`)

describe.each(cases)('TS-3 a timer service with %s on %s, killed at random like its broker', (brokerName, storeName) => {
  const { needed, start: startServer, connect } = brokers[brokerName]
  it.skipIf(isLeftOut(needed)).each(seeds)(
    'loses no timer whose command was acknowledged, and fires none early, also when the broker loses its data (seed %i)',
    async (seed) => {
      const random = seededRandom(seed)
      const server = await startServer()
      onTestFinished(() => server.stop())
      const store = await stores[storeName]()
      const broker = connect(server.url)
      onTestFinished(() => broker.close())
      const due = new Map<string, number>()
      const seen = await collect(broker, due)
      await schedule(broker, due, random, 'first')
      let service = start(store, server)
      onTestFinished(() => void service.kill('SIGKILL'))
      for (let round = 0; round < rounds; round++) {
        const killed =
          round % 2 === 0 ? killService(service, store, server, random) : killBroker(server, random).then(() => service)
        await schedule(broker, due, random, `call-${round}`)
        service = await killed
      }
      const records = createPunctual({ store: await openStoreUrl(store) })
      onTestFinished(() => records.close())
      await stored(records, due.size)
      // Some more, which are due after the broker has lost its data.
      await schedule(broker, due, random, 'late', 10_000)
      await stored(records, due.size)
      // The service publishes nothing meanwhile: an event that the broker has, and the test has not, would be lost with the data.
      service.kill('SIGSTOP')
      await expect.poll(async () => unseen(records, seen), { timeout: 60_000 }).toEqual([])
      const ahead = due.size - seen.fired.size
      expect(ahead).toBeGreaterThan(0)
      // All commands are in the store, which alone knows of the timers that are still to come.
      await server.kill()
      await server.wipe()
      await server.start()
      service.kill('SIGCONT')
      await expect.poll(() => [...due.keys()].filter((id) => !seen.fired.has(id)), { timeout: 120_000 }).toEqual([])
      console.log(
        `${brokerName} on ${storeName}, seed ${seed}: ${due.size} timers, ${rounds + 1} kills, ${ahead} timers after the wipe, ${seen.duplicates} duplicates, none lost`,
      )
      expect(seen.early).toEqual([])
      expect(await records.counts({ job: timerJob })).toMatchObject({ dead: 0, failed: 0 })
      service.kill('SIGTERM')
      await once(service, 'exit')
    },
    // RabbitMQ takes long to start.
    600_000,
  )
})

type Random = () => number

interface Seen {
  readonly fired: Set<string>
  readonly early: string[]
  duplicates: number
}

async function collect(broker: Broker, due: ReadonlyMap<string, number>): Promise<Seen> {
  const seen: Seen = { fired: new Set(), early: [], duplicates: 0 }
  await broker.consume({ channel: events, group: 'test', maxInFlight: 100 }, async (delivery) => {
    const { payload } = JSON.parse(new TextDecoder().decode(delivery.body)) as {
      payload: { serviceCallId: string; reachedAt: string }
    }
    const { serviceCallId: id, reachedAt } = payload
    const at = due.get(id) as number
    if (Date.now() < at || Date.parse(reachedAt) < at) seen.early.push(id)
    if (seen.fired.has(id)) seen.duplicates++
    seen.fired.add(id)
    await delivery.ack()
  })
  return seen
}

/** Publishes commands until the broker has accepted each; they are due within four seconds from `afterMs` on. */
async function schedule(broker: Broker, due: Map<string, number>, random: Random, name: string, afterMs = 0): Promise<void> {
  for (let n = 0; n < perRound; n++) {
    const serviceCallId = `${name}-${n}`
    const at = Date.now() + afterMs + Math.round(random() * 4000)
    due.set(serviceCallId, at)
    const body = JSON.stringify({
      type: 'ScheduleTimer',
      tenantId: `t${n % 10}`,
      serviceCallId,
      dueAt: new Date(at).toISOString(),
    })
    // Commands stream in while something is killed.
    await wait(1500 / perRound)
    for (let isAccepted = false; !isAccepted; ) {
      const [result] = await broker.publish([{ channel: commands, id: serviceCallId, body }])
      isAccepted = result?.ok === true
      if (!isAccepted) await wait(50)
    }
  }
}

function start(store: string, { url }: Server): ChildProcess {
  return spawn(process.execPath, ['dist/cli/main.js', 'timers', '--store', store, '--broker', url], {
    stdio: 'ignore',
  })
}

async function killService(service: ChildProcess, store: string, server: Server, random: Random): Promise<ChildProcess> {
  await wait(random() * 1500)
  service.kill('SIGKILL')
  await once(service, 'exit')
  return start(store, server)
}

async function killBroker(server: Server, random: Random): Promise<void> {
  await wait(random() * 1500)
  await server.kill()
  await server.start()
}

/** Waits until so many timers are in the store. */
async function stored(records: Punctual, count: number): Promise<void> {
  const total = async () => Object.values(await records.counts({ job: timerJob })).reduce((sum, one) => sum + one, 0)
  await expect.poll(total, { timeout: 60_000 }).toBe(count)
}

/** The timers that are marked as reached, and whose event the test has not got. */
async function unseen(records: Punctual, { fired }: Seen): Promise<string[]> {
  const missing: string[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await records.list({ job: timerJob, state: 'completed', limit: 500, ...(cursor && { cursor }) })
    missing.push(
      ...page.items.flatMap(({ idempotencyKey }) => (fired.has(idempotencyKey as string) ? [] : [idempotencyKey as string])),
    )
    cursor = page.cursor
  }
  return missing
}
