import { expect, it } from 'vitest'
import { createPunctual, defineJob } from '../../src/index.ts'
import { memory } from '../../src/store/memory/index.ts'

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
