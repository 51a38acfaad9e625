import { expect, it } from 'vitest'
import { overlap } from '../../../src/testing/store-suite/keys.ts'
import { postgresScene } from '../../support/postgres-scene.ts'
import { beginTransaction } from '../../support/postgres-transaction.ts'

it('JB-8 while a caller cancels the head of a line, the key stays where it is, and plain work is taken', async () => {
  const { scene, url } = await postgresScene()
  const limits = overlap('queue')
  const holder = await scene.running({ limits })
  const first = await scene.create({ limits })
  await scene.clock.advance(1000)
  const second = await scene.create({ limits })
  expect(await scene.claimedIds()).toEqual([])
  const tx = await beginTransaction(url)
  await scene.store.cancel({ which: { id: first }, reason: null }, tx)
  await scene.settle(holder, 'completed')
  const free = await scene.create({})
  expect(await scene.claimedIds()).toEqual([free])
  await tx.query('ROLLBACK')
  await scene.clock.advance(25)
  expect(await scene.claimedIds()).toEqual([first])
  expect(await scene.state(second)).toBe('waiting')
})

it('JB-8 a key does not advance past an arrival that a caller is canceling', async () => {
  const { scene, url } = await postgresScene()
  await scene.join()
  const limits = overlap('queue')
  const first = await scene.create({ limits })
  const second = await scene.create({ limits })
  const tx = await beginTransaction(url)
  await scene.store.cancel({ which: { id: first }, reason: null }, tx)
  expect(await scene.claimedIds()).toEqual([])
  await tx.query('ROLLBACK')
  expect(await scene.claimedIds()).toEqual([first])
  expect(await scene.state(second)).toBe('waiting')
})

it('JB-8 the next in line goes on when a caller has canceled the head', async () => {
  const { scene, url } = await postgresScene()
  const limits = overlap('queue')
  const holder = await scene.running({ limits })
  const first = await scene.create({ limits })
  const second = await scene.create({ limits })
  expect(await scene.claimedIds()).toEqual([])
  const tx = await beginTransaction(url)
  await scene.store.cancel({ which: { id: first }, reason: null }, tx)
  await scene.settle(holder, 'completed')
  expect(await scene.claimedIds()).toEqual([])
  await tx.query('COMMIT')
  await scene.clock.advance(25)
  expect(await scene.claimedIds()).toEqual([second])
})
