// A shop on SQLite. It runs three days in a moment, on a clock that is moved by hand, and prints what happens.
// Run it with: node examples/shop/main.ts

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPunctual } from 'punctual'
import { sqlite } from 'punctual/sqlite'
import { manualClock } from 'punctual/testing'
import { shopJobs } from './jobs.ts'
import { Shop } from './shop.ts'
import { openShop } from './tables.ts'

const folder = mkdtempSync(join(tmpdir(), 'shop-'))
const file = join(folder, 'shop.db')
const clock = manualClock('2026-03-10T08:00:00Z')
const now = () => clock.wall()

// In place of the bank: it refuses the first request of each day.
let requests = 0
const bank = createServer((_, response) => {
  requests += 1
  if (requests % 2 === 1) {
    response.writeHead(503).end()
    return
  }
  const effectiveDate = new Date(now()).toISOString().slice(0, 10)
  const rates = [
    { code: 'EUR', mid: 4.25 },
    { code: 'USD', mid: 3.9 },
  ]
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify([{ table: 'A', no: '1/A/NBP', effectiveDate, rates }]))
})
await new Promise<void>((resolve) => bank.listen(0, '127.0.0.1', resolve))

const db = openShop(file)
const jobs = shopJobs({ rateSource: `http://127.0.0.1:${(bank.address() as AddressInfo).port}`, now })
const punctual = createPunctual({
  store: sqlite(file),
  jobs: Object.values(jobs),
  clock,
  node: { heartbeat: '10m', timeout: '30m' },
})
punctual.on('task.failed', ({ job, error }) => console.log(`${at()} ${job}: ${error.message}; tried again`))
punctual.on('occurrence.completed', ({ job, id }) => {
  if (job !== 'expire-payments')
    void punctual.get(id).then((run) => console.log(`${at()} ${job}: ${JSON.stringify(run?.result)}`))
})
await punctual.start()
const shop = new Shop(db, punctual, jobs, { now })
const at = () => new Date(now()).toISOString().slice(5, 16)

db.prepare('INSERT INTO cart VALUES (?, ?)').run('left-behind', now() - 8 * 24 * 3_600_000)
db.prepare('INSERT INTO login_token VALUES (?, ?)').run('old', now() - 1)

await shop.checkout('order-1', 1999)
await shop.checkout('order-2', 4500)
await clock.advance('10m')
console.log(`${at()} order-1 is paid: ${await shop.pay('order-1')}`)
await clock.advance('10m')
console.log(`${at()} order-2 is paid: ${await shop.pay('order-2')}`)
await clock.advance('2d')
for (const { id, state } of db.prepare('SELECT id, state FROM orders ORDER BY id').all()) console.log(`${id}: ${state}`)
console.log(`rates: ${db.prepare('SELECT count(*) AS count FROM currency_rate').get()?.count}`)

await punctual.close()
db.close()
bank.close()
rmSync(folder, { recursive: true })
