import { expect, it, onTestFinished } from 'vitest'
import { createPunctual, type Punctual } from '../../../src/index.ts'
import { defineJob } from '../../../src/model/definition.ts'
import { sqlite } from '../../../src/store/sqlite/index.ts'
import { manualClock } from '../../../src/testing/index.ts'
import { databasePath } from '../../support/database-path.ts'

const job = defineJob('mail').task('send', ({ payload }) => payload)

it('a node heeds what another connection has written since its last claim: pauses, keys and refs', async () => {
  const { clock, node, other } = await scene()
  await node.enqueue(job, 1)
  await clock.settle()
  await other.pause('mail')
  const { id } = await node.enqueue(job, 2)
  await clock.settle()
  expect((await node.get(id))?.state).toBe('waiting')
  await other.enqueue(job, 3, { key: 'k', delay: '1h' })
  expect((await node.enqueue(job, 4, { key: 'k' })).outcome).toBe('existing')
  await other.resume('mail')
  await clock.advance('5s')
  expect((await node.get(id))?.state).toBe('completed')
  expect(await node.counts()).toMatchObject({ completed: 2, pending: 1 })
})

async function scene(): Promise<{ clock: ReturnType<typeof manualClock>; node: Punctual; other: Punctual }> {
  const path = databasePath()
  const clock = manualClock()
  const node = createPunctual({ store: sqlite(path), clock, jobs: [job] })
  const other = createPunctual({ store: sqlite(path), clock, jobs: [job] })
  onTestFinished(async () => {
    await node.close()
    await other.close()
  })
  await node.start()
  return { clock, node, other }
}
