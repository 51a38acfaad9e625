// A shop that ends itself at one step (CRASH_AT), or one that is started again, runs four days on and prints its books.
import { createPunctual } from 'punctual'
import { sqlite } from 'punctual/sqlite'
import { manualClock } from 'punctual/testing'
import { shopJobs } from '../../examples/shop/jobs.ts'
import { Shop } from '../../examples/shop/shop.ts'
import { openShop } from '../../examples/shop/tables.ts'

const [file = '', crashAt = ''] = process.argv.slice(2)
const clock = manualClock(crashAt === '' ? '2026-03-10T09:00:00Z' : '2026-03-10T08:00:00Z')
const now = () => clock.wall()
const after = (step: string) => {
  if (step === crashAt) process.kill(process.pid, 'SIGKILL')
}

const db = openShop(file)
const jobs = shopJobs({ rateSource: 'http://127.0.0.1:9', now, after })
const { syncRates: _, ...ours } = jobs
const punctual = createPunctual({
  store: sqlite(file),
  jobs: Object.values(ours),
  clock,
  node: { heartbeat: '10m', timeout: '30m' },
  log: { debug() {}, info() {}, warn() {}, error() {} },
})
await punctual.start()

if (crashAt === '') {
  await clock.advance('4d')
  const books = {
    orders: db.prepare('SELECT id, state FROM orders ORDER BY id').all(),
    events: db.prepare('SELECT order_id, state, count(*) AS count FROM order_event GROUP BY 1, 2 ORDER BY 1, min(id)').all(),
    live: await punctual.counts(),
  }
  console.log(JSON.stringify(books))
  await punctual.close()
  db.close()
} else {
  const shop = new Shop(db, punctual, jobs, { now, after })
  await shop.checkout('a', 100)
  await shop.pay('a')
  await shop.checkout('b', 200)
  await clock.advance('50m')
  process.exit(3) // The step was not reached.
}
