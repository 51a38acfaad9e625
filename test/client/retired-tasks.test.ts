import { expect, it } from 'vitest'
import { createPunctual, defineJob } from '../../src/index.ts'
import type { Context } from '../../src/model/context.ts'
import { memory } from '../../src/store/memory/index.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { inMemory } from '../support/each-store.ts'
import { untilAborted } from '../support/until-aborted.ts'

it('records of a task that the job has lost since are marked retired', async () => {
  const store = memory()
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const before = createPunctual({
    store,
    jobs: [
      defineJob('report')
        .task('fetch', () => 1)
        .task('print', () => 2),
    ],
    log,
  })
  const { id } = await before.enqueue('report')
  await before.runDue()
  await before.stop()
  const after = createPunctual({ store, jobs: [defineJob('report').task('fetch', () => 1)], log })
  await after.runDue()
  const tasks = (await after.get(id))?.tasks.map(({ name, state, retired, result }) => [name, state, retired, result])
  expect(tasks).toEqual([
    ['fetch', 'succeeded', undefined, 1],
    ['print', 'succeeded', true, 2],
  ])
})

it('a turn whose node was lost is no attempt of a task that the job has lost since', async () => {
  const { node, client, clock } = newCluster({ connect: inMemory() })
  const isHeld = Promise.withResolvers<void>()
  const wider = (work: (ctx: Pick<Context, 'signal'>) => unknown) =>
    defineJob('report')
      .task('fetch', work)
      .task('print', () => 2)
  const first = await node({ jobs: [wider(() => isHeld.promise)], grace: 0 })
  const { id } = await first.punctual.enqueue('report')
  await first.probe.next('task.started')
  first.store.freeze()
  const second = client({ jobs: [wider(untilAborted)] })
  await second.punctual.start()
  await clock.advance('40s')
  const stopped = second.punctual.stop()
  await clock.advance('1m')
  await stopped
  const last = await node({ jobs: [defineJob('report').task('fetch', () => 1)] })
  await clock.advance('1m')
  const found = await occurrence(last.punctual, id)
  expect(found.state).toBe('completed')
  expect(found.tasks).toMatchObject([
    { name: 'fetch', state: 'succeeded', attempts: [{ state: 'lost' }, { state: 'canceled' }, { state: 'succeeded' }] },
    { name: 'print', state: 'canceled', attempts: [], retired: true },
  ])
})
