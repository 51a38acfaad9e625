import { expect, it, onTestFinished, vi } from 'vitest'
import { createPunctual } from '../../../src/client/punctual.ts'
import { postgres } from '../../../src/store/postgres/index.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { beginTransaction } from '../../support/postgres-transaction.ts'

it('what an open transaction holds up keeps no stranger waiting, and is answered when it ends', async () => {
  const { punctual, tx } = await scene()
  const { id } = await punctual.enqueue('mail', 1, { tx, idempotencyKey: 'held', delay: '1h' })
  const held = watched(punctual.enqueue('mail', 2, { idempotencyKey: 'held', delay: '1h' }))
  const together = [punctual.enqueue('mail', 1, { idempotencyKey: 'a' }), punctual.enqueue('mail', 1, { key: 'b' })]
  expect((await Promise.all(together)).map(({ outcome }) => outcome)).toEqual(['created', 'created'])
  expect((await punctual.enqueue('mail', 1, { idempotencyKey: 'later' })).outcome).toBe('created')
  expect(
    (await punctual.enqueueMany([{ job: 'mail' }, { job: 'mail', idempotencyKey: 'bulk' }])).map(({ outcome }) => outcome),
  ).toEqual(['created', 'created'])
  expect(held.isSettled).toBe(false)
  await tx.query('COMMIT')
  expect(await held.answer).toEqual({ id, outcome: 'existing', payloadDiffers: true, state: 'pending' })
})

it('what is held up is created when the transaction rolls back, alone and in bulk', async () => {
  const { punctual, tx } = await scene()
  await punctual.enqueue('mail', 1, { idempotencyKey: 'kept', delay: '1h' })
  await punctual.enqueue('mail', 1, { tx, key: 'held' })
  await punctual.cancel({ job: 'mail', idempotencyKey: 'kept' }, { tx })
  const all = [
    watched(punctual.enqueue('mail', 2, { key: 'held' })),
    watched(punctual.enqueueMany([{ job: 'mail', key: 'held' }, { job: 'mail' }])),
    watched(punctual.enqueue('mail', 3, { idempotencyKey: 'kept', onConflict: 'replace', delay: '2h' })),
  ]
  await punctual.enqueue('mail', 1, { idempotencyKey: 'other' })
  expect(all.map(({ isSettled }) => isSettled)).toEqual([false, false, false])
  await tx.query('ROLLBACK')
  const [single, bulk, replaced] = await Promise.all(all.map(({ answer }) => answer))
  expect([single, (bulk as unknown[])[0]]).toContainEqual(expect.objectContaining({ outcome: 'created' }))
  expect([single, (bulk as unknown[])[0]]).toContainEqual(expect.objectContaining({ outcome: 'existing' }))
  expect(replaced).toMatchObject({ outcome: 'replaced' })
})

it('patience ends', async () => {
  const clock = manualClock()
  const { punctual, tx } = await scene({ clock })
  await punctual.enqueue('mail', 1, { tx, idempotencyKey: 'held' })
  // Each read of the clock moves it by a second.
  let at = 0
  vi.spyOn(clock, 'mono').mockImplementation(() => (at += 1000))
  await expect(punctual.enqueue('mail', 2, { idempotencyKey: 'held' })).rejects.toMatchObject({ code: 'store.busy' })
  await tx.query('ROLLBACK')
})

async function scene(options: { clock?: ReturnType<typeof manualClock> } = {}) {
  const url = await sharedPostgresUrl()
  const punctual = createPunctual({ store: postgres(url, { schema: freshSchemaName() }), ...options })
  onTestFinished(() => punctual.close())
  return { punctual, tx: await beginTransaction(url) }
}

function watched<Answer>(answer: Promise<Answer>) {
  const seen = { answer, isSettled: false }
  const settle = () => {
    seen.isSettled = true
  }
  answer.then(settle, settle)
  return seen
}
