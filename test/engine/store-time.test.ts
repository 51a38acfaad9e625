import { expect, it } from 'vitest'
import { StoreTime } from '../../src/engine/node/store-time.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'

const start = Date.parse('2026-01-01T00:00:00Z')

/** A store whose clock is `offsetMs` ahead, and a way to ask it that takes `goMs` there and `backMs` back. */
function newScene(offsetMs: number) {
  const clock = manualClock(start)
  let jumps = 0
  const time = new StoreTime(clock, () => jumps++)
  const ask = async (goMs: number, backMs: number) => {
    const sentAt = clock.mono()
    await clock.advance(goMs)
    const told = clock.wall() + offsetMs
    await clock.advance(backMs)
    time.observe(told, sentAt)
  }
  return { clock, time, ask, jumps: () => jumps, off: () => time.now() - (clock.wall() + offsetMs) }
}

it('an answer is as old as half of its round trip', async () => {
  const { ask, off } = newScene(400)
  await ask(20, 20)
  expect(off()).toBe(0)
})

it('the quickest of the last answers tells the time, not the latest', async () => {
  const { ask, off } = newScene(400)
  await ask(1, 1)
  await ask(2, 300)
  expect(off()).toBe(0)
  for (let i = 0; i < 8; i++) await ask(10, 30)
  expect(off()).toBe(-10)
})

it('a quick answer counts for a minute, since clocks drift', async () => {
  const { clock, ask, off } = newScene(0)
  await ask(0, 0)
  await clock.advance('61s')
  await ask(10, 30)
  expect(off()).toBe(-10)
})

it('a clock that was set is believed at once, and told of', async () => {
  const { clock, jumps, ask, off } = newScene(0)
  await ask(1, 1)
  clock.jump(-600_000)
  await ask(5, 5)
  expect(off()).toBe(0)
  expect(jumps()).toBe(1)
})

it('an instant that may have come already is waited for no more, one that is ahead to the millisecond', async () => {
  const { clock, time, ask } = newScene(0)
  await ask(2, 2)
  expect(time.until(clock.wall() - 5)).toBe(0)
  expect(time.until(clock.wall() + 3)).toBe(0)
  expect(time.until(clock.wall() + 500)).toBe(500)
})

it('an answer that took long does not make instants come early', async () => {
  const { clock, time, ask } = newScene(0)
  await ask(500, 500)
  expect(time.until(clock.wall() + 100)).toBe(100)
})
