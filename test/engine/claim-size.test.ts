import { describe, expect, it } from 'vitest'
import type { Env } from '../../src/engine/env.ts'
import { ClaimSize } from '../../src/engine/loops/claim-size.ts'

function claimSize(concurrency = 10): ClaimSize {
  const env = {
    options: { concurrency, claimLimit: 5000, clusterLimit: null, pick: 'priority' },
    store: { batchLimit: 1000 },
  }
  return new ClaimSize(env as unknown as Env)
}

describe('the size of claims', () => {
  it('doubles while claims start quickly, up to the limit of the store', () => {
    const size = claimSize()
    const sizes = Array.from({ length: 8 }, () => {
      size.noteStart(50)
      return size.ahead
    })
    expect(sizes).toEqual([20, 40, 80, 160, 320, 640, 1000, 1000])
    expect(size.isFull).toBe(true)
  })

  it('shrinks to what would have started in time, so one slow claim does not begin the growth anew', () => {
    const size = claimSize()
    for (let n = 0; n < 8; n++) size.noteStart(1)
    size.noteStart(60)
    expect(size.ahead).toBe(833)
    size.noteStart(10_000)
    expect(size.ahead).toBe(4)
  })

  it('is nothing beyond the free slots after work was given back', () => {
    const size = claimSize()
    size.noteStart(1)
    size.reset()
    expect(size.ahead).toBe(0)
  })
})
