import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startNats } from '../../test/support/servers/nats.ts'
import { inChildren } from '../harness/in-child.ts'
import { figure, Page } from '../harness/page.ts'
import { percentile } from '../harness/statistics.ts'
import { describeServer, startServer } from '../postgres/server.ts'
import { Place, sum, tenants } from './place.ts'
import type { Service } from './service.ts'

/**
 * Measures the timer service with a real NATS on SQLite and PostgreSQL: commands accepted, events fired, and how late they are while a
 * million other timers wait. A part of it: `npm run timers -- --stores sqlite --timers 10000 --pending 0 --seconds 5`. Without timers only the lateness is measured.
 */

const { values } = parseArgs({
  options: {
    stores: { type: 'string', default: 'sqlite,postgres' },
    instances: { type: 'string', default: '1,2' },
    timers: { type: 'string', default: '50000' },
    pending: { type: 'string', default: '1000000' },
    rate: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '20' },
  },
})
const stores = values.stores.split(',')
const instances = values.instances.split(',').map(Number)
const [timers, pending, rate, seconds] = [values.timers, values.pending, values.rate, values.seconds].map(Number) as [
  number,
  number,
  number,
  number,
]
const goal = { accepted: 5000, fired: 5000, lateMs: 50 }
const page = new Page('Timers behind NATS')
const rows: { accepted: string[][]; fired: string[][]; late: string[][] } = { accepted: [], fired: [], late: [] }

await using server = stores.includes('postgres') ? await startServer() : null
for (const store of stores) await measure(store)
page.table(
  `Accepted: ${figure(timers, 0)} commands of ${figure(tenants, 0)} tenants wait in NATS`,
  ['', 'commands/s', 'CPU µs/command', 'goal'],
  rows.accepted,
  'From the start of consuming until all are stored. CPU is that of the service, without NATS and without the server of PostgreSQL.',
)
page.table(
  `Fired: ${figure(timers, 0)} timers are due at one instant`,
  ['', 'events/s', 'CPU µs/event', 'duplicates', 'goal'],
  rows.fired,
  'From the due instant until the last event has arrived at its consumer.',
)
page.table(
  `Late: ${rate} timers a second for ${seconds} s, with ${figure(pending, 0)} others pending`,
  ['', 'p50 ms', 'p99 ms', 'longest ms', 'memory MB', 'goal, p99'],
  rows.late,
  'From the due instant until the event has arrived at its consumer.',
)
page.write('timers', {
  ...(server && { engine: `SQLite ${process.versions.sqlite}, ${describeServer(server)}` }),
  packages: [],
  notes: [
    `Made by \`npm run timers\` in \`bench/\`, one run. Services are processes of their own with \`concurrency: 500\`; the sender of commands and the consumer of events are a third. All share the cores with NATS and PostgreSQL. Every event was checked to have come, and none early.`,
  ],
})

async function measure(store: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
  const broker = await startNats()
  const storeUrl = server && store === 'postgres' ? server.url : join(folder, 'timers.db')
  try {
    for (const count of timers > 0 ? instances : []) {
      const place = await Place.open(storeUrl, broker.url)
      const label = `${store}, ${count === 1 ? 'one instance' : `${count} instances`}`
      await rates(place, label, count)
      await place.close()
    }
    if (pending > 0)
      await inChildren([{ module: new URL('fill.ts', import.meta.url), name: 'fill', args: [storeUrl, pending, tenants] }])
    for (const count of instances) {
      const place = await Place.open(storeUrl, broker.url)
      const label = `${store}, ${count === 1 ? 'one instance' : `${count} instances`}`
      await steady(place, label, count)
      await place.close()
    }
  } finally {
    await broker.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function rates(place: Place, label: string, count: number): Promise<void> {
  const services = await place.services(count)
  // They are stored well before they are due, also where a command takes a millisecond.
  const dueAt = Date.now() + 30_000 + timers
  await place.send(`rate-${count}`, timers, () => dueAt)
  const before = sum(await Promise.all(services.map((service) => service.start())), ({ cpuMicros }) => cpuMicros)
  const began = performance.now()
  const stored = await place.stored(services, timers)
  const accepted = timers / ((performance.now() - began) / 1000)
  const acceptedMicros = (sum(stored, ({ cpuMicros }) => cpuMicros) - before) / timers
  rows.accepted.push([
    label,
    figure(accepted),
    figure(acceptedMicros),
    page.goal(`≥ ${figure(goal.accepted, 0)}/s`, accepted >= goal.accepted),
  ])
  console.log(label, 'accepted', rows.accepted.at(-1))
  if (Date.now() > dueAt) throw new Error('The timers were due before all were stored')
  await wait(dueAt - Date.now() - 200)
  const resting = await cpu(services)
  await place.arrived(timers)
  const fired = timers / (Math.max(...place.lateness.values()) / 1000)
  const firedMicros = ((await cpu(services)) - resting) / timers
  rows.fired.push([
    label,
    figure(fired),
    figure(firedMicros),
    String(place.check()),
    page.goal(`≥ ${figure(goal.fired, 0)}/s`, fired >= goal.fired),
  ])
  console.log(label, 'fired', rows.fired.at(-1))
  await Promise.all(services.map((service) => service.stop()))
}

async function steady(place: Place, label: string, count: number): Promise<void> {
  const services = await place.services(count)
  await Promise.all(services.map((service) => service.start()))
  const total = rate * seconds
  // They are stored well before, also on a machine that others use.
  const start = Date.now() + 10_000 + 5 * total
  await place.send(`steady-${count}`, total, (n) => start + (n * 1000) / rate)
  await place.stored(services, total)
  if (Date.now() > start) throw new Error('Timers were due before all were stored')
  await place.arrived(total)
  const late = [...place.lateness.values()]
  const p99 = percentile(late, 99)
  const memory = Math.max(...(await Promise.all(services.map((service) => service.numbers()))).map(({ rssBytes }) => rssBytes))
  rows.late.push([
    label,
    figure(percentile(late, 50), 0),
    figure(p99, 0),
    figure(Math.max(...late), 0),
    figure(memory / 2 ** 20, 0),
    page.goal(`< ${goal.lateMs} ms`, p99 < goal.lateMs),
  ])
  place.check()
  console.log(label, 'late', rows.late.at(-1))
  await Promise.all(services.map((service) => service.stop()))
}

async function cpu(services: readonly Service[]): Promise<number> {
  return sum(await Promise.all(services.map((service) => service.numbers())), ({ cpuMicros }) => cpuMicros)
}
