import { Client } from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { overlap } from '../../../src/testing/store-suite/keys.ts'
import { minute } from '../../../src/testing/store-suite/scene.ts'
import { postgresScene } from '../../support/postgres-scene.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

it('JB-8 a claim that waits for a key gives it to the oldest in line, also when that one could not be seen before', async () => {
  const { scene, schema, url } = await postgresScene()
  const holds = overlap('queue')
  const holder = await scene.running({ holds })
  await scene.settle(holder, 'parked', { delayMs: minute })
  const older = await scene.create({ holds })
  expect(await scene.claimedIds()).toEqual([])
  await scene.clock.advance(1000)
  const younger = await scene.create({ holds })

  const tx = new Client(url)
  await tx.connect()
  onTestFinished(() => tx.end())
  await tx.query('BEGIN')
  await scene.store.cancel({ which: { id: holder.id }, reason: null }, tx)
  const claimed = scene.claimedIds()
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}".limit_key%'`
  await vi.waitFor(async () => expect(await queryOnce(url, waiting)).toHaveLength(1))
  await tx.query('COMMIT')

  expect(await claimed).toEqual([older])
  expect(await scene.state(younger)).toBe('waiting')
})
