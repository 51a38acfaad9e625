// Two days of a billing in a moment, on a clock that is moved by hand. It prints the audit: what happened, and when.
// Run it with: node examples/billing/main.ts, or DATABASE_URL=postgres://… node examples/billing/main.ts on an empty database.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPunctual } from 'punctual'
import { manualClock } from 'punctual/testing'
import { billingJobs } from './jobs.ts'
import { openDatabase } from './open.ts'
import { Provider } from './provider.ts'
import { onPayment } from './webhook.ts'

const folder = mkdtempSync(join(tmpdir(), 'billing-'))
const clock = manualClock('2026-03-10T08:00:00Z')
const now = () => clock.wall()
const hour = 3_600_000

const database = await openDatabase(process.env.DATABASE_URL ?? join(folder, 'billing.db'))
// The webhooks about acme are lost, those about globex come twice.
const provider = new Provider(join(folder, 'provider.db'), {
  send: (event) => onPayment(punctual, jobs, event),
  arrivals: (invoice) => (invoice.startsWith('acme') ? 0 : 2),
})
const jobs = billingJobs({ provider, now })
const punctual = createPunctual({
  store: database.store,
  jobs: Object.values(jobs),
  clock,
  node: { heartbeat: '10m', timeout: '30m' },
})
await punctual.start()

for (const tenant of ['acme', 'globex'])
  await database.all(`INSERT INTO subscription (tenant, plan, price, period, state, renews_at)
    VALUES ('${tenant}', 'basic', 4900, 6, 'active', ${now() + hour})`)
await database.all(`INSERT INTO branch (id, tenant, plan, next_plan, next_plan_at, open_sessions)
  VALUES ('harbour', 'acme', 'big', 'small', ${now() + hour}, 1)`)

await clock.advance('2h')
await provider.pay('globex/7')
await clock.advance('1h')
await database.all("UPDATE branch SET open_sessions = 0 WHERE id = 'harbour'")
await clock.advance('1d')
await provider.pay('acme/7')
await clock.advance('1h')

for (const { at, event, refs } of (await punctual.audit({ action: 'event', order: 'oldest' })).items)
  console.log(`${at.toISOString().slice(5, 16)} ${event} ${refs.subject}`)
for (const { tenant, state } of await database.all('SELECT tenant, state FROM subscription ORDER BY tenant'))
  console.log(`${tenant}: ${state}`)

await punctual.close()
await database.close()
provider.close()
rmSync(folder, { recursive: true })
