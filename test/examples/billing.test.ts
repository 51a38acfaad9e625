import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createDatabase } from '../support/postgres-database.ts'

const run = promisify(execFile)
const program = 'test/examples/billing.process.ts'
/** Of one process: hundreds of runs, on a machine that may be busy. */
const longestMs = 240_000
vi.setConfig({ testTimeout: 2 * longestMs })

/** Ends the billing at a step, starts it again and returns its books. */
async function booksAfter(database: string, story: string, step: string): Promise<Record<string, unknown>> {
  const folder = mkdtempSync(join(tmpdir(), 'billing-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const place = database === 'PostgreSQL' ? await createDatabase() : join(folder, 'billing.db')
  const { signal, status, stderr } = spawnSync(process.execPath, [program, folder, place, story, step], { timeout: longestMs })
  expect([signal, status, String(stderr)]).toEqual(['SIGKILL', null, ''])
  const { stdout } = await run(process.execPath, [program, folder, place, story], { timeout: longestMs })
  return JSON.parse(stdout)
}

test.each(['SQLite', 'PostgreSQL'])('the billing runs two days on %s and prints what happens', async (database) => {
  const env = database === 'PostgreSQL' ? { ...process.env, DATABASE_URL: await createDatabase() } : process.env
  const { stdout } = await run(process.execPath, ['examples/billing/main.ts'], { timeout: longestMs, env })
  const lines = stdout.trim().split('\n')
  expect(lines.map((line) => line.replace(/^[\d-]+T[\d:]+ /, '')).toSorted()).toEqual([
    'acme: active',
    'branch.downgraded harbour',
    'globex: active',
    'invoice.issued acme/7',
    'invoice.issued globex/7',
    'invoice.paid acme/7',
    'invoice.paid globex/7',
    'renewal.applied acme/7',
    'renewal.applied globex/7',
    'subscription.frozen acme',
  ])
  expect(lines).toContain('03-10T11:15 branch.downgraded harbour')
  expect(lines).toContain('03-11T09:00 subscription.frozen acme')
})

const sound = { dead: 0, isWhole: true }

describe.each(['SQLite', 'PostgreSQL'])('BL-8 BL-9 the billing on %s, killed in the middle', (database) => {
  test.each(['begun', 'written', 'committed'].map((step) => `subscription.renewal_tick ${step}`))(
    'AC-1 after %s: one renewal invoice for the period',
    async (step) => {
      expect(await booksAfter(database, 'renewal', step)).toEqual({
        subscriptions: [{ state: 'past-due', plan: 'basic' }],
        invoices: [{ id: 'acme/7', state: 'open', applied: 0 }],
        branches: [],
        audit: ['SYSTEM invoice.issued acme/7'],
        ...sound,
      })
    },
  )

  test.each(['begun', 'written', 'committed'].map((step) => `subscription.grace_expiry_tick ${step}`))(
    'AC-2 after %s: unpaid after 24 hours, it is frozen',
    async (step) => {
      expect(await booksAfter(database, 'freeze', step)).toMatchObject({
        subscriptions: [{ state: 'frozen' }],
        audit: ['SYSTEM subscription.frozen acme'],
        ...sound,
      })
    },
  )

  test.each(['webhook answered', 'payment begun', 'payment written', 'payment committed'])(
    'AC-3 after %s: every paid invoice has its effect, once',
    async (step) => {
      expect(await booksAfter(database, 'effects', step)).toEqual({
        subscriptions: [{ state: 'active', plan: 'premium' }],
        invoices: ['b', 'r', 'u'].map((id) => ({ id, state: 'paid', applied: 1 })),
        branches: [{ id: 'harbour', plan: 'standard' }],
        audit: [
          'SYSTEM branch.applied b',
          'SYSTEM invoice.paid b',
          'SYSTEM invoice.paid r',
          'SYSTEM invoice.paid u',
          'SYSTEM renewal.applied r',
          'SYSTEM upgrade.applied u',
        ],
        ...sound,
      })
    },
  )

  test.each(['begun', 'written', 'committed'].map((step) => `branch.plan_downgrade_effective_tick ${step}`))(
    'AC-4 after %s: a downgrade waits for a quiet branch',
    async (step) => {
      expect(await booksAfter(database, 'downgrade', step)).toMatchObject({
        branches: [
          { id: 'busy', plan: 'small' },
          { id: 'quiet', plan: 'small' },
        ],
        audit: ['SYSTEM branch.downgraded busy', 'SYSTEM branch.downgraded quiet'],
        ...sound,
      })
    },
  )

  test.each([
    'reconcile asked',
    'reconcile begun',
    'reconcile written',
    'reconcile committed',
    'invoice.effect_recovery_tick begun',
    'invoice.effect_recovery_tick written',
    'invoice.effect_recovery_tick committed',
  ])('AC-5 after %s: a lost webhook is reconciled, and its effect completes', async (step) => {
    expect(await booksAfter(database, 'lost', step)).toEqual({
      subscriptions: [{ state: 'active', plan: 'basic' }],
      invoices: ['b', 'r'].map((id) => ({ id, state: 'paid', applied: 1 })),
      branches: [{ id: 'harbour', plan: 'standard' }],
      audit: ['SYSTEM branch.applied b', 'SYSTEM invoice.paid b', 'SYSTEM invoice.paid r', 'SYSTEM renewal.applied r'],
      ...sound,
    })
  })
})
