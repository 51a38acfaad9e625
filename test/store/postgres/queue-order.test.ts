import { expect, it, vi } from 'vitest'
import type { PostgresOptions } from '../../../src/store/postgres/index.ts'
import { overlap } from '../../../src/testing/store-suite/keys.ts'
import { idsOf, minute } from '../../../src/testing/store-suite/scene.ts'
import { postgresScene } from '../../support/postgres-scene.ts'
import { beginTransaction } from '../../support/postgres-transaction.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

it('JB-8 a claim that waits for a key gives it to the oldest in line, also when that one could not be seen before', async () => {
  // Only where nothing better is to be had does a claim wait for keys.
  const { scene, schema, url, older, younger, holder } = await lineForOneKey({ compat: true })
  const tx = await beginTransaction(url)
  await scene.store.cancel({ which: { id: holder }, reason: null }, tx)
  const claimed = scene.claimedIds()
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}".limit_key%'`
  await vi.waitFor(async () => expect(await queryOnce(url, waiting)).toHaveLength(1))
  await tx.query('COMMIT')

  expect(await claimed).toEqual([older])
  expect(await scene.state(younger)).toBe('waiting')
})

it('JB-8 a claim passes by what needs a key that another transaction has, takes what is behind it, and comes back soon', async () => {
  const { scene, url, older, younger, holder } = await lineForOneKey()
  const tx = await beginTransaction(url)
  await scene.store.cancel({ which: { id: holder }, reason: null }, tx)
  const free = await scene.create({})
  const passing = await scene.claim({ limit: 1 })
  expect(idsOf(passing)).toEqual([free])
  const back = await scene.claim()
  expect(back.members).toEqual([])
  expect(back.answer.nextDue).toBe(back.answer.now + 25)
  await tx.query('COMMIT')

  expect(await scene.claimedIds()).toEqual([older])
  expect(await scene.state(younger)).toBe('waiting')
})

/** One that is parked has a key; for it wait an older one, and a younger one that nobody has looked at yet. */
async function lineForOneKey(options: PostgresOptions = {}) {
  const opened = await postgresScene(options)
  const { scene } = opened
  const limits = overlap('queue')
  const holder = await scene.running({ limits })
  await scene.settle(holder, 'parked', { delayMs: minute })
  const older = await scene.create({ limits })
  expect(await scene.claimedIds()).toEqual([])
  await scene.clock.advance(1000)
  const younger = await scene.create({ limits })
  return { ...opened, older, younger, holder: holder.id }
}
