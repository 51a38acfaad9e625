import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Broker, Channel } from '../../src/broker/broker.ts'
import { nats } from '../../src/broker/nats/index.ts'
import { seededRandom } from '../../src/testing/store-suite/seeded-random.ts'
import { databasePath } from '../support/database-path.ts'
import { type NatsServer, startNats } from '../support/servers/nats.ts'
import { isLeftOut, nats as needed } from '../support/servers/needed.ts'

const commands: Channel = { name: 'timers.commands', kind: 'queue' }
const events: Channel = { name: 'timers.events', kind: 'topic' }
/** Timers per round, and rounds; each round kills something. More: SEEDS=20, SEED=100. */
const perRound = 100
const rounds = 4
const seeds = Array.from({ length: Number(process.env.SEEDS ?? 1) }, (_, n) => n + Number(process.env.SEED ?? 1))

describe.skipIf(isLeftOut(needed))('TS-3 a timer service and a broker that are killed at random', () => {
  it.each(seeds)(
    'lose no timer whose command was acknowledged, and fire none early, also when the broker loses its data (seed %i)',
    async (seed) => {
      const random = seededRandom(seed)
      const server = await startNats()
      onTestFinished(() => server.stop())
      const store = `sqlite:${databasePath()}`
      const broker = nats({ servers: server.url })
      onTestFinished(() => broker.close())
      const due = new Map<string, number>()
      const seen = await collect(broker, due)
      let service = start(store, server)
      onTestFinished(() => void service.kill('SIGKILL'))
      for (let round = 0; round < rounds; round++) {
        const killed =
          round % 2 === 0 ? killService(service, store, server, random) : killBroker(server, random).then(() => service)
        await schedule(broker, due, random, `call-${round}`)
        service = await killed
      }
      await answered(server, 'timers_commands', 'workers')
      // Some more, which are due after the broker has lost its data.
      await schedule(broker, due, random, 'late', 8000)
      await answered(server, 'timers_commands', 'workers')
      // The service publishes nothing meanwhile: an event that the broker has, and the test has not, would be lost with the data.
      service.kill('SIGSTOP')
      await answered(server, 'timers_events', 'test')
      const ahead = due.size - seen.fired.size
      expect(ahead).toBeGreaterThan(0)
      // All commands are acknowledged: the store alone knows of the timers that are still to come.
      await server.kill()
      await server.wipe()
      await server.start()
      service.kill('SIGCONT')
      await expect.poll(() => [...due.keys()].filter((id) => !seen.fired.has(id)), { timeout: 120_000 }).toEqual([])
      console.log(
        `Seed ${seed}: ${due.size} timers, ${rounds + 1} kills, ${ahead} timers after the wipe, ${seen.duplicates} duplicates, none lost`,
      )
      expect(seen.early).toEqual([])
      service.kill('SIGTERM')
      await once(service, 'exit')
    },
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

function start(store: string, { url }: NatsServer): ChildProcess {
  return spawn(process.execPath, ['dist/cli/main.js', 'timers', '--store', store, '--broker', url], {
    stdio: 'ignore',
  })
}

async function killService(service: ChildProcess, store: string, server: NatsServer, random: Random): Promise<ChildProcess> {
  await wait(random() * 1500)
  service.kill('SIGKILL')
  await once(service, 'exit')
  return start(store, server)
}

async function killBroker(server: NatsServer, random: Random): Promise<void> {
  await wait(random() * 1500)
  await server.kill()
  await server.start()
}

/**
 * Waits until a consumer has acknowledged every message. Those in the stream are no measure: NATS 2.9 keeps an acknowledgement over a
 * kill, but not always the removal of its message, which then stays and is delivered to no consumer.
 */
async function answered({ url }: NatsServer, stream: string, consumer: string): Promise<void> {
  const connection = await connect({ servers: url })
  const manager = await jetstreamManager(connection)
  for (let left = Number.POSITIVE_INFINITY; left > 0; ) {
    await wait(50)
    const { num_pending, num_ack_pending } = await manager.consumers.info(stream, consumer)
    left = num_pending + num_ack_pending
  }
  await connection.close()
}
