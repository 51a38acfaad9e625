// Fills an empty store with some days of the shop's past. Everything is done by the scheduler itself, on a clock that is moved:
// deployments, an outage of all nodes, a person's changes, failures and their dead letters.
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import { type AnyDefinition, createPunctual, cron, defineJob, type Punctual } from 'punctual'
import { sqlite } from 'punctual/sqlite'
import { type ManualClock, manualClock } from 'punctual/testing'
import * as shop from './jobs.ts'
import { payOrder, paysInTime, placeOrder } from './shop.ts'
import { chance, world } from './world.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
/** Everything runs for some days, nightly jobs for weeks. */
const days = 2.6
const nightlyDays = 21
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const timezone = 'Europe/Warsaw'

const { setup: _, ...definitions } = shop
const current: readonly AnyDefinition[] = Object.values(definitions)
// Values that earlier deployments declared differently.
const legacyPriceFeed = defineJob('legacy-price-feed', { schedule: cron('0 6 1 * *') }).task('fetch', ({ signal }) =>
  world.current.work(2000, signal),
)
const earlierReport = defineJob('nightly-report', {
  schedule: cron('0 2 * * *', { timezone }),
  recovery: 'last',
  retry: { max: 1, interval: '1m' },
  executionTimeout: '2h',
})
  .task('collect', { timeout: '1h' }, ({ signal }) => world.current.work(22 * minute, signal))
  .task('render', { timeout: '1h' }, ({ signal }) => world.current.work(12 * minute, signal))
  .task('publish', ({ signal }) => world.current.work(minute, signal))
const rare = ['ledger-close', 'search-reindex', 'email-digest', 'digest-mail']
const upload = async ({ signal }: { signal: AbortSignal }) => world.current.work(9 * minute, signal)

if (import.meta.main) await seed(process.argv[2] ?? '.punctual/demo.db')

/** Writes beside the file and renames at the end: an interrupted seed leaves no half of a past. */
async function seed(file: string): Promise<void> {
  const fresh = `${file}.${process.pid}`
  mkdirSync(dirname(file), { recursive: true })
  for (const end of ['', '-wal', '-shm']) rmSync(`${fresh}${end}`, { force: true })
  const end = Date.now()
  const clock = manualClock(end - nightlyDays * day)
  await past(fresh, clock, end)
  for (const part of ['', '-wal', '-shm']) rmSync(`${file}${part}`, { force: true })
  renameSync(fresh, file)
}

async function past(file: string, clock: ManualClock, end: number): Promise<void> {
  let charges = 0
  const gatewayDownAt = end - 95 * minute
  world.current = {
    work: (ms, signal) =>
      new Promise((resolve, reject) => {
        const stop = clock.timer(ms, resolve)
        signal.addEventListener('abort', () => {
          stop()
          reject(signal.reason)
        })
      }),
    now: () => clock.wall(),
    isGatewayDown: () => clock.wall() > gatewayDownAt,
    isGatewayHanging: () => Math.abs(clock.wall() - (end - 5 * hour)) < hour && ++charges <= 2,
  }
  const often = { heartbeat: '1m', timeout: '5m', checkInterval: '2m' }
  const deploy = async (jobs: readonly AnyDefinition[], release: number, hasUpload: boolean, node = often) => {
    const punctual = createPunctual({
      store: sqlite(file),
      clock,
      log: silent,
      jobs,
      release,
      name: 'node-a',
      ...(hasUpload && { handlers: { 'order-export': { upload } } }),
      node,
      retention: '30d',
    })
    await punctual.start()
    return punctual
  }
  const stop = async (punctual: Punctual) => {
    const closing = punctual.close()
    await clock.advance('1m')
    await closing
  }

  // Frequent jobs came later: they would be most of the past.
  const nightly = current.filter(({ name }) => rare.includes(name))
  const others = current.filter(({ name }) => name !== 'nightly-report' && name !== 'subscription.renewal_tick')
  const night = lastNight(end)
  const seldom = { heartbeat: '10m', timeout: '50m', checkInterval: '20m' }
  let punctual = await deploy([...nightly, earlierReport, legacyPriceFeed], 20261001, true, seldom)
  while (clock.wall() < end - days * day) await clock.advanceTo(Math.min(end - days * day, clock.wall() + hour))
  await stop(punctual)
  punctual = await deploy([...others, earlierReport, legacyPriceFeed], 20261014, true)
  await pass(punctual, clock, night - 20 * hour)
  await stop(punctual)
  punctual = await deploy([...current, legacyPriceFeed], 20261020, true)
  await pass(punctual, clock, night - 15 * hour)
  await punctual.update('nightly-report', { schedule: cron('30 2 * * *', { timezone }) }, { by: 'ada' })
  await pass(punctual, clock, night)
  await stop(punctual)
  // No node runs for a while in the night.
  await clock.advanceTo(night + 24 * minute)
  punctual = await deploy([...current, legacyPriceFeed], 20261022, true)
  await pass(punctual, clock, end - 130 * minute)
  await stop(punctual)
  // The newest code forgot the handler of order-export, and no longer declares legacy-price-feed.
  punctual = await deploy(current, 20261023, false)
  await pass(punctual, clock, end - 60 * minute)
  await punctual.replayAll({ job: 'currency-rate-sync', state: 'failed' }, { reason: 'the rates API is back', by: 'ada' })
  await punctual.pause('token-cleanup', { until: new Date(end + 200 * minute), reason: 'tokens are being moved', by: 'ada' })
  await pass(punctual, clock, end)
  await stop(punctual)
}

/** Lets time pass in steps, in which customers order and pay, and invoices are asked for. */
async function pass(punctual: Punctual, clock: ManualClock, until: number): Promise<void> {
  while (clock.wall() < until) {
    const at = clock.wall()
    const step = Math.floor(at / (5 * minute))
    const busy = 0.5 + 0.5 * Math.sin(((at % day) / day) * 2 * Math.PI - 2)
    const orders = 1 + Math.floor(busy * 2 + chance(`orders${step}`) * 2)
    for (let n = 0; n < orders; n++) await placeOrder(punctual, 48_000 + (step % 100_000) * 10 + n, '15m')
    for (let n = 0; n < 5; n++) {
      const order = 48_000 + ((step - 2) % 100_000) * 10 + n
      if (paysInTime(order)) await payOrder(punctual, order).catch(() => {})
    }
    if (chance(`invoice${step}`) > 0.94) await askForInvoice(punctual, step)
    await clock.advanceTo(Math.min(until, at + 5 * minute))
  }
}

async function askForInvoice(punctual: Punctual, step: number): Promise<void> {
  const isGlobex = chance(`customer${step}`) > 0.82
  const customer = isGlobex ? 'globex' : 'acme'
  const payload = isGlobex ? { customer } : { customer, vatId: 'PL7010001234' }
  await punctual.enqueue('invoice', payload, {
    idempotencyKey: `${customer}-${step}`,
    entity: customer,
  })
}

/** The newest 03:10 in Warsaw that is some hours ago. */
function lastNight(end: number): number {
  const shown = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(end)
  const [hours = 0, minutes = 0] = shown.split(':').map(Number)
  const since = ((hours * 60 + minutes - 190 + 1440) % 1440) * minute
  const night = Math.floor((end - since) / minute) * minute
  return end - night < 3 * hour ? night - day : night
}
