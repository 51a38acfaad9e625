import { createPunctual } from 'punctual'
import { memory } from 'punctual/memory'
import { manualClock, probe } from 'punctual/testing'
import { expect, test } from 'vitest'
import * as demo from '../../examples/demo/jobs.ts'

test('the demo does what its comments say', async () => {
  const { setup, ...definitions } = demo
  const clock = manualClock()
  await using punctual = createPunctual({ store: memory(), jobs: Object.values(definitions), clock })
  const events = probe(punctual)
  const resultOf = async (job: string) => {
    const { id } = await events.next('occurrence.completed', (event) => event.job === job)
    return punctual.get(id)
  }
  await punctual.start()
  setup(punctual)

  await clock.advance('5s')
  expect(await resultOf('heartbeat')).toMatchObject({ result: 'still here', source: 'schedule' })
  await clock.advance('15s')
  expect(await resultOf('front-page')).toMatchObject({ result: '2 stories under a clear sky' })
  expect(await resultOf('order')).toMatchObject({ result: 'order-1767225615' })
  await clock.advance('20s')
  expect(await resultOf('payment-timeout')).toMatchObject({
    idempotencyKey: 'order-1767225615',
    result: 'order-1767225615 was not paid in time',
  })
  const flaky = await resultOf('flaky')
  expect(flaky?.tasks[0]?.attempts.map(({ state }) => state)).toEqual(['failed', 'failed', 'succeeded'])
  expect((await punctual.status('currency-rates')).nextRun?.toISOString()).toBe('2026-01-01T11:15:00.000Z')
})
