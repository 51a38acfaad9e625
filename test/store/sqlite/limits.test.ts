// The bounded steps of the SQLite store, and rules that several handles of one file share.
import { expect, it } from 'vitest'
import type { Limit } from '../../../src/model/limit.ts'
import type { Scene } from '../../../src/testing/store-suite/scene.ts'
import { databasePath } from '../../support/database-path.ts'
import { sqliteScene } from '../../support/sqlite-scene.ts'

const skip: Limit = { kind: 'overlap', key: 'o', limit: 1, policy: 'skip' }
const two: Limit = { kind: 'concurrency', key: 'c', limit: 2 }

it('passes over at most a thousand rows in one claim, and asks to be called again at once', async () => {
  const scene = await joined()
  await scene.store.create(Array.from({ length: 1500 }, () => scene.row({ startWithinMs: 1000 })))
  await scene.clock.advance(1001)
  await scene.create({ priority: 9 })
  const first = await scene.claim()
  expect([first.members.length, first.answer.passed.length]).toEqual([0, 1000])
  expect(first.answer.nextDue).toBeLessThanOrEqual(scene.now)
  const second = await scene.claim()
  expect([second.members.length, second.answer.passed.length, second.answer.nextDue]).toEqual([1, 500, null])
})

it('lets at most two thousand rows come to the door in one pass, and asks to be called again at once', async () => {
  const scene = await joined()
  await scene.store.create(Array.from({ length: 2500 }, () => scene.row({ limits: [skip] })))
  const first = await scene.claim()
  expect([first.members.length, first.answer.passed.length]).toEqual([1, 1999])
  expect(first.answer.nextDue).toBeLessThanOrEqual(scene.now)
  const second = await scene.claim()
  expect([second.members.length, second.answer.passed.length, second.answer.nextDue]).toEqual([0, 500, null])
})

it('wakes at most a thousand rows in one claim', async () => {
  const scene = await joined()
  await scene.store.pause({ tenant: null, job: null, open: { until: { in: 1000 }, reason: null, by: null } })
  await scene.store.create(Array.from({ length: 1200 }, () => scene.row()))
  for (let claims = 0; claims < 2; claims++) await scene.claim()
  expect((await scene.store.counts({})).states).toMatchObject({ pending: 0, waiting: 1200 })
  await scene.clock.advance(1000)
  const first = await scene.claim({ limit: 1 })
  expect((await scene.store.counts({})).states).toMatchObject({ pending: 999, waiting: 200, running: 1 })
  expect(first.answer.nextDue).toBeLessThanOrEqual(scene.now)
  await scene.claim({ limit: 1 })
  expect((await scene.store.counts({})).states).toMatchObject({ pending: 1198, waiting: 0, running: 2 })
})

it('ends at most a thousand rows that have not begun in time in one rescue, and says that there are more', async () => {
  const scene = await joined()
  await scene.store.create(Array.from({ length: 1100 }, () => scene.row({ startWithinMs: 1000 })))
  await scene.clock.advance(1001)
  const first = await scene.rescue({ gone: [] })
  expect([first.expired.length, first.more]).toEqual([1000, true])
  const second = await scene.rescue({ gone: [] })
  expect([second.expired.length, second.more]).toEqual([100, false])
})

it('keeps to a limit over several handles of one file', async () => {
  const scene = await joined()
  await scene.store.create(Array.from({ length: 20 }, () => scene.row({ limits: [two] })))
  const others = await Promise.all([1, 2, 3].map(() => scene.another()))
  const claims = [scene.store, ...others].map((store) => store.claim(scene.claimRequest({ limit: 5 })))
  const members = (await Promise.all(claims)).flatMap((answer) => answer.members)
  expect(members).toHaveLength(2)
})

it('a pause that another handle has opened or closed holds at the next claim', async () => {
  const scene = await joined()
  const other = await scene.another()
  const all = { tenant: null, job: null }
  await scene.create()
  await other.pause({ ...all, open: { until: null, reason: null, by: null } })
  expect(await scene.claimedIds()).toEqual([])
  await other.pause({ ...all, open: null })
  expect(await scene.claimedIds()).toHaveLength(1)
})

it('a node that picks finds what was written before it came, and what others write after', async () => {
  const scene = await joined()
  const other = await scene.another()
  for (const tenant of ['acme', 'acme', 'globex']) await other.create([scene.row({ tenant })])
  await scene.join('node-2', { picks: true })
  await other.create([scene.row({ tenant: 'hooli' })])
  const { members } = await scene.claim({ node: 'node-2', limit: 3, pick: { kind: 'fair' } })
  expect(members.map(({ record }) => record.tenant)).toEqual(['acme', 'globex', 'hooli'])
})

async function joined(): Promise<Scene> {
  const scene = await sqliteScene(databasePath())
  await scene.join()
  return scene
}
