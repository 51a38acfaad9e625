// A billing that ends itself at one step, or one that is started again, runs on and prints its books.
import { createPunctual } from 'punctual'
import { manualClock } from 'punctual/testing'
import { billingJobs } from '../../examples/billing/jobs.ts'
import { openDatabase } from '../../examples/billing/open.ts'
import { Provider } from '../../examples/billing/provider.ts'
import { onPayment } from '../../examples/billing/webhook.ts'

/** `place`: the URL of a PostgreSQL database, or the path of a file. */
const [folder = '', place = '', story = '', crashAt = ''] = process.argv.slice(2)
const isFirst = crashAt !== ''
const day = 24 * 3_600_000
const begin = Date.parse('2026-03-10T08:00:00Z')
const clock = manualClock(isFirst ? begin : begin + 2 * 3_600_000)
const now = () => clock.wall()
const after = (step: string) => {
  if (step === crashAt) process.kill(process.pid, 'SIGKILL')
}

const { store, all, close } = await openDatabase(place)
const provider = new Provider(`${folder}/provider.db`, {
  async send(event) {
    await onPayment(punctual, jobs, event)
    after('webhook answered')
  },
  arrivals: () => (story === 'lost' ? 0 : 2),
})
const jobs = billingJobs({ provider, now, after })
const punctual = createPunctual({
  store,
  jobs: Object.values(jobs),
  clock,
  node: { heartbeat: '10m', timeout: '30m' },
  log: { debug() {}, info() {}, warn() {}, error() {} },
})

const subscribe = (state: string, renewsAt: number, since: number | null) =>
  all(`INSERT INTO subscription (tenant, plan, price, period, state, renews_at, past_due_since)
    VALUES ('acme', 'basic', 4900, 6, '${state}', ${renewsAt}, ${since}) ON CONFLICT DO NOTHING`)
const invoice = (id: string, purpose: string, subject: string) =>
  all(`INSERT INTO invoice VALUES ('${id}', 'acme', '${purpose}', '${subject}', 100, 'open', 0) ON CONFLICT DO NOTHING`)

/** Events outside of the program, for each of the five promises. */
const stories: Readonly<Record<string, () => Promise<unknown>>> = {
  renewal: () => subscribe('active', begin + 60_000, null),
  freeze: () => subscribe('past-due', begin + 20 * day, begin - day + 60_000),
  async effects() {
    await subscribe('past-due', begin + 20 * day, begin)
    for (const [id, purpose, subject] of [
      ['r', 'renewal', 'acme'],
      ['b', 'branch', 'harbour'],
      ['u', 'upgrade', 'premium'],
    ] as const) {
      await invoice(id, purpose, subject)
      await provider.pay(id)
    }
  },
  downgrade: () =>
    all(
      `INSERT INTO branch VALUES ('busy', 'acme', 'big', 'small', ${begin}, 1), ('quiet', 'acme', 'big', 'small', ${begin}, 0)`,
    ),
  async lost() {
    await subscribe('past-due', begin + 20 * day, begin)
    for (const [id, purpose, subject] of [
      ['r', 'renewal', 'acme'],
      ['b', 'branch', 'harbour'],
    ] as const) {
      await invoice(id, purpose, subject)
      await provider.pay(id)
    }
  },
}

// The provider repeats a webhook that was not answered, and goes on with the others.
if (isFirst || story === 'effects') await stories[story]?.()
await punctual.start()
await clock.advance(isFirst ? '70m' : '2h')
if (isFirst) process.exit(3) // The step was not reached.
if (story === 'downgrade') {
  const [busy] = await all("SELECT plan FROM branch WHERE id = 'busy'")
  if (busy?.plan !== 'big') throw new Error('A downgrade took hold while operations were under way')
  await all("UPDATE branch SET open_sessions = 0 WHERE id = 'busy'")
  await clock.advance('1h')
}
const events = (await punctual.audit({ action: 'event', limit: 500 })).items
const { isWhole } = await punctual.verifyAudit()
console.log(
  JSON.stringify({
    subscriptions: await all('SELECT state, plan FROM subscription'),
    invoices: await all('SELECT id, state, effect_applied AS applied FROM invoice ORDER BY id'),
    branches: await all('SELECT id, plan FROM branch ORDER BY id'),
    audit: events.map(({ event, actor, refs }) => `${actor} ${event} ${refs?.subject}`).sort(),
    isWhole,
    dead: (await punctual.deadLetters()).items.length,
  }),
)
await punctual.close()
await close()
provider.close()
