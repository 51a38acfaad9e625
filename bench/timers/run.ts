// Figures of the timer service with a real NATS: commands accepted, events fired, and how late they are.
// node bench/timers/run.ts [sqlite|postgres] [timers], from the root of the repository.
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import type { Broker, Channel } from '../../src/broker/broker.ts'
import { nats } from '../../src/broker/nats/index.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { createTimers } from '../../src/timers/timers.ts'
import { startNats } from '../../test/support/servers/nats.ts'
import { startPostgres } from '../../test/support/servers/postgres.ts'

const commands: Channel = { name: 'timers.commands', kind: 'queue' }
const tenants = 1000
const [kind = 'sqlite', size = '20000'] = process.argv.slice(2)
const count = Number(size)
const folder = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
const server = await startNats()
const database = kind === 'postgres' ? await startPostgres() : null
const store: Store = database ? postgres(database.url) : sqlite(join(folder, 'timers.db'))
const broker = nats(server.url)
const punctual = createPunctual({ store, concurrency: 500 })
const timers = createTimers({ punctual, broker })
await punctual.start()

// All are due at the same instant, well after the last command.
const far = new Date(Date.now() + 86_400_000).toISOString()
await publish(broker, 'stored', () => far)
const accepting = performance.now()
timers.start()
await until(() => timers.metrics.schedulesProcessed.created === count)
report('commands accepted', count / seconds(accepting))

await publish(broker, 'due', () => new Date().toISOString())
const firing = performance.now()
await until(() => timers.metrics.fired === count)
report('commands accepted and fired at once', count / seconds(firing))

// A steady rate, with all the others pending.
const before = timers.metrics.lateness
const rate = 500
const steady = 5 * rate
const start = Date.now() + 3000
await publish(broker, 'steady', (n) => new Date(start + (n * 1000) / rate).toISOString(), steady)
await until(() => timers.metrics.fired === count + steady)
const { lateness } = timers.metrics
for (const share of [0.5, 0.99]) {
  const bucket = lateness.buckets.find(({ count: upTo }, at) => upTo - (before.buckets[at]?.count ?? 0) >= share * steady)
  console.log(`lateness p${share * 100} at ${rate} fires a second, ${count} pending: at most ${bucket?.leMs} ms`)
}
console.log(`${kind}, ${cpus().length} cores, ${tenants} tenants, duplicates ${timers.metrics.duplicates}`)
await timers.stop()
await punctual.close()
await broker.close()
await server.stop()
await database?.remove()
rmSync(folder, { recursive: true, force: true })

async function publish(to: Broker, name: string, dueAt: (n: number) => string, total = count): Promise<void> {
  for (let from = 0; from < total; from += 1000) {
    const messages = Array.from({ length: Math.min(1000, total - from) }, (_, at) => {
      const n = from + at
      const body = { type: 'ScheduleTimer', tenantId: `t${n % tenants}`, serviceCallId: `${name}-${n}`, dueAt: dueAt(n) }
      return { channel: commands, id: `${name}-${n}`, body: JSON.stringify(body) }
    })
    const results = await to.publish(messages)
    if (results.some(({ ok }) => !ok)) throw new Error(`not published: ${JSON.stringify(results.find(({ ok }) => !ok))}`)
  }
}

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await wait(5)
}

function seconds(since: number): number {
  return (performance.now() - since) / 1000
}

function report(what: string, perSecond: number): void {
  console.log(`${what}: ${Math.round(perSecond)} a second`)
}
