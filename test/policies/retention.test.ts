import { defineJob } from 'punctual'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'
import { expect, it, onTestFinished } from 'vitest'
import { createPunctual } from '../../src/client/punctual.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const day = 86_400_000

function scheduler(jobs: Parameters<typeof createPunctual>[0]['jobs'] & {}, over = {}) {
  const clock = manualClock()
  const punctual = createPunctual({ store: memory(), jobs, clock, log: silent, ...over })
  onTestFinished(() => punctual.close())
  return { punctual, clock }
}

it('TM-10, TM-17 each job keeps its executions by its own retention: for ever, by age, by count', async () => {
  const permanent = defineJob('permanent', { retention: 'forever' }, () => 1)
  const short = defineJob('short', { retention: '1d' }, () => 1)
  const few = defineJob('few', { retention: { age: 'forever', completed: { count: 2 } } }, () => 1)
  const plain = defineJob('plain', {}, () => 1)
  const { punctual, clock } = scheduler([permanent, short, few, plain], { retention: '10d' })
  await punctual.start()
  for (const job of [permanent, short, few, few, few, plain]) await (await punctual.enqueue(job)).result()
  const left = async () => (await punctual.list({ state: 'completed' })).items.map(({ job }) => job).toSorted()
  await clock.advance(5 * 60_000)
  expect(await left()).toEqual(['few', 'few', 'permanent', 'plain', 'short'])
  await clock.advance(2 * day)
  expect(await left()).toEqual(['few', 'few', 'permanent', 'plain'])
  await clock.advance(10 * day)
  expect(await left()).toEqual(['few', 'few', 'permanent'])
})

it('JS-7 prune deletes what is older on call, and returns its count', async () => {
  const job = defineJob('job', { retention: 'forever' }, () => 1)
  const { punctual, clock } = scheduler([job])
  await punctual.start()
  await (await punctual.enqueue(job)).result()
  await clock.advance(day)
  const { id } = await punctual.enqueue(job)
  await punctual.result(id)
  expect(await punctual.prune({ olderThan: '1h', by: 'ada' })).toBe(1)
  expect((await punctual.list()).items.map((item) => item.id)).toEqual([id])
  expect((await punctual.audit()).items).toMatchObject([{ actor: 'ada', action: 'prune', after: { pruned: 1 } }])
})

it('JS-1 a record is deleted by id; live work is refused', async () => {
  const job = defineJob('job', {}, () => 1)
  const { punctual } = scheduler([job])
  await punctual.start()
  const ended = await punctual.enqueue(job)
  await ended.result()
  const pending = await punctual.enqueue(job, undefined, { delay: '1h' })
  await punctual.delete(ended.id, { by: 'ada', reason: 'asked for' })
  expect(await punctual.get(ended.id)).toBeNull()
  await expect(punctual.delete(ended.id)).rejects.toMatchObject({ code: 'occurrence.unknown' })
  await expect(punctual.delete(pending.id)).rejects.toMatchObject({ code: 'occurrence.conflict' })
  expect((await punctual.audit()).items).toMatchObject([{ action: 'delete', target: ended.id, reason: 'asked for' }])
})

it.each([
  ['a word', 'long'],
  ['a list', []],
  ['an unknown state', { done: '1d' }],
  ['a negative count', { count: -1 }],
  ['an unknown name within a state', { failed: { days: 3 } }],
])('refuses %s as retention', (_, retention) => {
  expect(() => defineJob('job', { retention: retention as never }, () => 1)).toThrow(/retention/)
})
