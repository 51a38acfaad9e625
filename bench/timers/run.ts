import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startNats } from '../../test/support/servers/nats.ts'
import { figure, Page } from '../harness/page.ts'
import { percentile } from '../harness/statistics.ts'
import { describeServer, startServer } from '../postgres/server.ts'
import { Place, sum, tenants } from './place.ts'
import type { Service } from './service.ts'

/**
 * Measures the timer service with a real NATS on SQLite and PostgreSQL: commands accepted, events fired, and how late they are while a
 * million other timers wait. Part by part, each into the rows of the same page: `npm run timers -- --parts late --stores sqlite`. A small
 * run: `--stores sqlite --timers 10000 --pending 0 --seconds 5`.
 */

const { values } = parseArgs({
  options: {
    parts: { type: 'string', default: 'rates,late' },
    stores: { type: 'string', default: 'sqlite,postgres' },
    instances: { type: 'string', default: '1,2' },
    timers: { type: 'string', default: '50000' },
    pending: { type: 'string', default: '1000000' },
    rate: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '20' },
  },
})
const parts = values.parts.split(',')
const stores = values.stores.split(',')
const instances = values.instances.split(',').map(Number)
const [timers, pending, rate, seconds] = [values.timers, values.pending, values.rate, values.seconds].map(Number) as [
  number,
  number,
  number,
  number,
]
const goal = { accepted: 5000, fired: 5000, lateMs: 50 }
/** The slowest pace that a part still waits for. */
const slowestPerSecond = 4000
const page = new Page('Timers behind NATS', { continues: 'timers' })
const rows: Record<'accepted' | 'fired' | 'filled' | 'late', string[][]> = { accepted: [], fired: [], filled: [], late: [] }
let natsVersion: string | null = null

// The head of the page names its version, also where a part does without it.
await using server = await startServer()
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
  `Filled: ${figure(pending, 0)} commands are sent and stored at the same time`,
  ['', 'seconds', 'commands/s', 'CPU µs/command', 'goal'],
  rows.filled,
  'By one instance, from the first command that is sent until the last is stored. This is how a large number of timers is imported.',
)
page.table(
  `Late: ${rate} timers a second for ${seconds} s, with ${figure(pending, 0)} others pending`,
  ['', 'p50 ms', 'p99 ms', 'longest ms', 'CPU % of a core', 'memory MB', 'goal, p99'],
  rows.late,
  'From the due instant until the event has arrived at its consumer. CPU and memory are those of the busiest service.',
)
page.write('timers', {
  engine: `NATS ${natsVersion}, SQLite ${process.versions.sqlite}, ${describeServer(server)}`,
  packages: [],
  notes: [
    'Made by `npm run timers` in `bench/`, part by part (`--parts`, `--stores`). Services are separate processes with `concurrency: 500`; the sender of commands and the consumer of events are another one. All share the cores with NATS and PostgreSQL. Every event was checked to have come, and none early.',
  ],
})

async function measure(store: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
  const broker = await startNats()
  const storeUrl = store === 'postgres' ? server.url : join(folder, 'timers.db')
  const inPlace = async (count: number, work: (place: Place, label: string, services: Service[]) => Promise<void>) => {
    const place = await Place.open(storeUrl, broker.url)
    natsVersion ??= await place.brokerVersion()
    const services = await place.services(count)
    await work(place, `${store}, ${count === 1 ? 'one instance' : `${count} instances`}`, services)
    await Promise.all(services.map((service) => service.stop()))
    await place.close()
  }
  try {
    if (parts.includes('rates')) for (const count of instances) await inPlace(count, rates)
    if (!parts.includes('late')) return
    if (pending > 0) await inPlace(1, (place, _, services) => filled(place, store, services))
    for (const count of instances) await inPlace(count, late)
  } finally {
    await broker.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function rates(place: Place, label: string, services: readonly Service[]): Promise<void> {
  // They are stored well before they are due.
  const dueAt = Date.now() + 5000 + (timers / slowestPerSecond) * 1000
  await place.send(`rate-${services.length}`, timers, () => dueAt)
  const before = sum(await Promise.all(services.map((service) => service.start())), ({ cpuMicros }) => cpuMicros)
  const began = performance.now()
  const stored = await place.stored(services, timers)
  const accepted = timers / ((performance.now() - began) / 1000)
  const acceptedMicros = (sum(stored, ({ cpuMicros }) => cpuMicros) - before) / timers
  note('accepted', [label, figure(accepted, 0), figure(acceptedMicros, 1), goalOf(goal.accepted, accepted)])
  if (Date.now() > dueAt) throw new Error('The timers were due before all were stored')
  await wait(dueAt - Date.now() - 200)
  const resting = await cpu(services)
  await place.arrived(timers)
  const fired = timers / (Math.max(...place.lateness.values()) / 1000)
  const firedMicros = ((await cpu(services)) - resting) / timers
  note('fired', [label, figure(fired, 0), figure(firedMicros, 1), String(place.check()), goalOf(goal.fired, fired)])
}

/** Puts the timers that are not due during the measurement, as any system would: by commands. */
async function filled(place: Place, label: string, services: readonly Service[]): Promise<void> {
  const before = sum(await Promise.all(services.map((service) => service.start())), ({ cpuMicros }) => cpuMicros)
  const began = performance.now()
  await place.fill(pending)
  const stored = await place.stored(services, pending)
  const took = (performance.now() - began) / 1000
  const micros = (sum(stored, ({ cpuMicros }) => cpuMicros) - before) / pending
  note('filled', [label, figure(took, 0), figure(pending / took, 0), figure(micros, 1), goalOf(goal.accepted, pending / took)])
}

async function late(place: Place, label: string, services: readonly Service[]): Promise<void> {
  await Promise.all(services.map((service) => service.start()))
  const total = rate * seconds
  const start = Date.now() + 5000 + (total / slowestPerSecond) * 1000
  await place.send(`late-${services.length}`, total, (n) => start + (n * 1000) / rate)
  await place.stored(services, total)
  if (Date.now() > start) throw new Error('Timers were due before all were stored')
  await wait(start - Date.now())
  const before = await numbers(services)
  await place.arrived(total)
  const after = await numbers(services)
  const busiest = Math.max(...after.map(({ cpuMicros }, at) => cpuMicros - (before[at]?.cpuMicros ?? 0)))
  const late = [...place.lateness.values()]
  const p99 = percentile(late, 99)
  place.check()
  note('late', [
    label,
    figure(percentile(late, 50), 0),
    figure(p99, 0),
    figure(Math.max(...late), 0),
    figure(busiest / seconds / 1e4, 0),
    figure(Math.max(...after.map(({ rssBytes }) => rssBytes)) / 2 ** 20, 0),
    page.goal(`< ${goal.lateMs} ms`, p99 < goal.lateMs),
  ])
}

function goalOf(least: number, perSecond: number): string {
  return page.goal(`≥ ${figure(least, 0)}/s`, perSecond >= least)
}

function note(table: keyof typeof rows, row: string[]): void {
  rows[table].push(row)
  console.log(table, row.join(' | '))
}

function numbers(services: readonly Service[]) {
  return Promise.all(services.map((service) => service.numbers()))
}

async function cpu(services: readonly Service[]): Promise<number> {
  return sum(await numbers(services), ({ cpuMicros }) => cpuMicros)
}
