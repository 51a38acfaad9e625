import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { sleep, systemClock } from '../../src/time/clock.ts'

const day = 86_400_000

describe('the clock of the machine', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('shows the wall, and a clock that never goes back', () => {
    vi.setSystemTime(1000)
    expect(systemClock.wall()).toBe(1000)
    const before = systemClock.mono()
    vi.setSystemTime(0)
    expect(systemClock.mono()).toBeGreaterThanOrEqual(before)
  })

  it('takes a time that has passed for now: Node.js would warn of it', () => {
    const set = vi.spyOn(globalThis, 'setTimeout')
    const fn = vi.fn()
    systemClock.timer(-50, fn)
    expect(set).toHaveBeenCalledWith(fn, 0)
  })

  it('runs a timer once, after its time', () => {
    const fn = vi.fn()
    systemClock.timer(50, fn)
    vi.advanceTimersByTime(49)
    expect(fn).not.toHaveBeenCalled()
    vi.advanceTimersByTime(500)
    expect(fn).toHaveBeenCalledOnce()
  })

  it('runs timers of 400 days on their day', () => {
    const fn = vi.fn()
    systemClock.timer(400 * day, fn)
    vi.advanceTimersByTime(400 * day - 1)
    expect(fn).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(fn).toHaveBeenCalledOnce()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('takes a timer back at any stage of its wait', () => {
    const fn = vi.fn()
    const cancel = systemClock.timer(400 * day, fn)
    vi.advanceTimersByTime(100 * day)
    cancel()
    cancel()
    vi.advanceTimersByTime(400 * day)
    expect(fn).not.toHaveBeenCalled()
  })

  it('calls soon after the current burst of work', () => {
    const fn = vi.fn()
    systemClock.soon(fn)
    expect(fn).not.toHaveBeenCalled()
    vi.advanceTimersByTime(0)
    expect(fn).toHaveBeenCalledOnce()
  })
})

describe('a sleep', () => {
  it('ends after its time', async () => {
    const clock = manualClock()
    const woken = vi.fn()
    void sleep(clock, 1000).then(woken)
    await clock.advance(999)
    expect(woken).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(woken).toHaveBeenCalledOnce()
  })

  it('ends early when its signal aborts, and leaves no timer behind', async () => {
    const clock = manualClock()
    const controller = new AbortController()
    const slept = sleep(clock, 1000, controller.signal)
    controller.abort()
    await slept
    expect(clock.pending).toBe(0)
  })

  it('does not begin when its signal has aborted', async () => {
    const clock = manualClock()
    await sleep(clock, 1000, AbortSignal.abort())
    expect(clock.pending).toBe(0)
  })
})

describe('a tick of the machine', () => {
  const turned = () => new Promise<string>((resolve) => setImmediate(() => resolve('loop')))

  it('comes after the promises of its burst and before the callbacks of the event loop', async () => {
    const order: string[] = []
    await turned()
    const ended = turned().then((what) => order.push(what))
    const ticked = new Promise<void>((resolve) => {
      systemClock.tick?.(() => {
        order.push('tick')
        resolve()
      })
    })
    void Promise.resolve().then(() => order.push('promise'))
    await Promise.all([ended, ticked])
    expect(order).toEqual(['promise', 'tick', 'loop'])
  })

  it('that follows another without end lets the event loop go round', async () => {
    let hasTurned = false
    void turned().then(() => {
      hasTurned = true
    })
    await new Promise<void>((resolve) => {
      const again = () => (hasTurned ? resolve() : systemClock.tick?.(again))
      again()
    })
    expect(hasTurned).toBe(true)
  })
})
