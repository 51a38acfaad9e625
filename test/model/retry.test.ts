import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defaultRetry, parseRetry, type RetryFunction, type RetryPolicy, retryDelay } from '../../src/model/retry.ts'

const minute = 60_000
const hour = 60 * minute

function wait(
  policy: Partial<RetryPolicy>,
  failures: number,
  over: { error?: unknown; delayMs?: number; random?: number; custom?: RetryFunction } = {},
) {
  return retryDelay({ ...defaultRetry, ...policy }, { failures, error: new Error('no'), delayMs: 0, random: 0, ...over })
}

describe('retry', () => {
  it('JS-5 waits 2, 4 and 8 s by default, and then gives up', () => {
    expect([1, 2, 3, 4].map((failures) => wait({}, failures))).toEqual([2000, 4000, 8000, null])
  })

  it('a thrown value that cannot be read is retried like any other', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(wait({}, 1, { error: proxy })).toBe(2000)
  })

  it('JB-12 max counts retries beyond the first attempt', () => {
    expect(wait({ max: 0 }, 1)).toBeNull()
    expect([wait({ max: 1 }, 1), wait({ max: 1 }, 2)]).toEqual([2000, null])
  })

  it('JB-12 the wait before retry k is interval × factor^(k−1)', () => {
    const some = { k: fc.integer({ min: 1, max: 12 }), intervalMs: fc.nat(10_000), factor: fc.integer({ min: 1, max: 5 }) }
    fc.assert(
      fc.property(fc.record(some), ({ k, intervalMs, factor }) => {
        expect(wait({ max: 20, intervalMs, factor, maxIntervalMs: Number.MAX_SAFE_INTEGER }, k)).toBe(
          intervalMs * factor ** (k - 1),
        )
      }),
    )
  })

  it('no wait is longer than maxInterval, however many retries there were', () => {
    expect(wait({ max: 100, maxIntervalMs: minute }, 10)).toBe(minute)
    expect(wait({ max: 1_000_000 }, 900_000)).toBe(hour)
    expect(wait({ max: 1_000_000, intervalMs: 0 }, 900_000)).toBe(0)
  })

  it('fixed waits the same each time', () => {
    expect([1, 2, 3].map((failures) => wait({ strategy: 'fixed', intervalMs: 500 }, failures))).toEqual([500, 500, 500])
  })

  it('TM-11 proportional waits a tenth of the delay times k, at most maxInterval: 60 min unless set', () => {
    const proportional = { strategy: 'proportional', max: 5 } as const
    expect([1, 2].map((k) => wait(proportional, k, { delayMs: 15 * minute }))).toEqual([1.5 * minute, 3 * minute])
    expect(wait(proportional, 1, { delayMs: 48 * hour })).toBe(hour)
    expect(wait({ ...proportional, maxIntervalMs: 24 * hour }, 1, { delayMs: 48 * hour })).toBe(4.8 * hour)
  })

  it('TM-11 proportional falls back to exponential for work without a delay', () => {
    expect([1, 2].map((k) => wait({ strategy: 'proportional' }, k))).toEqual([2000, 4000])
  })

  it('JS-5 a function decides the wait, or that there is none', () => {
    const asked: unknown[] = []
    const custom: RetryFunction = (question) => {
      asked.push(question)
      return question.retry === 1 ? '90s' : false
    }
    const error = new Error('busy')
    expect(wait({ strategy: 'custom' }, 1, { custom, error, delayMs: 7 })).toBe(90_000)
    expect(wait({ strategy: 'custom' }, 2, { custom })).toBeNull()
    expect(asked[0]).toMatchObject({ retry: 1, error, delayMs: 7 })
  })

  it('a function is not asked when no retry is left', () => {
    const custom = () => expect.unreachable()
    expect(wait({ strategy: 'custom', max: 1 }, 2, { custom })).toBeNull()
  })

  it('a function that answers nonsense is told so', () => {
    expect(() => wait({ strategy: 'custom' }, 1, { custom: () => 'soon' })).toThrow(
      expect.objectContaining({ code: 'duration.invalid' }),
    )
  })

  it('a function that is not here leaves the exponential waits', () => {
    expect(wait({ strategy: 'custom' }, 2)).toBe(4000)
  })

  it('JS-5 an error can say that it is not retryable, or when to retry', () => {
    expect(wait({}, 1, { error: Object.assign(new Error('no'), { retryable: false }) })).toBeNull()
    expect(wait({}, 1, { error: Object.assign(new Error('no'), { retryInMs: 77 }) })).toBe(77)
    expect(wait({ max: 1 }, 2, { error: { retryInMs: 77 } })).toBeNull()
    expect(wait({}, 1, { error: { retryable: true } })).toBe(2000)
  })

  it('an error whose hint is no time is retried as any other', () => {
    for (const retryInMs of ['soon', Number.NaN, Number.POSITIVE_INFINITY, null])
      expect(wait({}, 1, { error: { retryInMs } })).toBe(2000)
    expect(wait({}, 1, { error: { retryInMs: -5 } })).toBe(0)
    // An instant must come of it.
    expect(wait({}, 1, { error: { retryInMs: 1e300 } })).toBe(31_557_600_000_000)
  })

  it('anything may be thrown', () => {
    for (const error of [undefined, null, 'text', 7]) expect(wait({}, 1, { error })).toBe(2000)
  })

  it('jitter takes up to its share off each wait, and adds nothing', () => {
    const between = (max: number) => fc.double({ min: 0, max, noNaN: true, maxExcluded: max === 1 })
    fc.assert(
      fc.property(between(0.9), between(1), fc.integer({ min: 1, max: 5 }), (jitter, random, failures) => {
        const full = wait({ max: 5 }, failures) as number
        const ms = wait({ max: 5, jitter }, failures, { random }) as number
        expect(ms).toBeLessThanOrEqual(full)
        expect(ms).toBeGreaterThanOrEqual(Math.round(full * (1 - jitter)))
        expect(Number.isInteger(ms)).toBe(true)
      }),
    )
    expect([wait({ jitter: 0.5 }, 1, { random: 0 }), wait({ jitter: 0.5 }, 1, { random: 0.5 })]).toEqual([2000, 1500])
  })
})

describe('retry options', () => {
  it('keep only what was given, in stored form', () => {
    expect(parseRetry({}, 'retry')).toEqual({})
    expect(parseRetry({ max: 0, interval: '30s', maxInterval: '1h' }, 'retry')).toEqual({
      max: 0,
      intervalMs: 30_000,
      maxIntervalMs: hour,
    })
    expect(parseRetry({ strategy: () => false }, 'retry')).toEqual({ strategy: 'custom' })
    expect(parseRetry({ strategy: 'fixed', factor: 1.5, jitter: 1 }, 'retry')).toEqual({
      strategy: 'fixed',
      factor: 1.5,
      jitter: 1,
    })
  })

  it.each([
    [{ max: -1 }, 'retry.max', 'option.invalid'],
    [{ max: 1.5 }, 'retry.max', 'option.invalid'],
    [{ max: Number.POSITIVE_INFINITY }, 'retry.max', 'option.invalid'],
    [{ max: '3' }, 'retry.max', 'option.invalid'],
    [{ interval: '5 minutes' }, 'retry.interval', 'duration.invalid'],
    [{ interval: 5n }, 'retry.interval', 'duration.invalid'],
    [{ maxInterval: -1 }, 'retry.maxInterval', 'duration.invalid'],
    [{ factor: 0.5 }, 'retry.factor', 'option.invalid'],
    [{ factor: Number.NaN }, 'retry.factor', 'option.invalid'],
    [{ jitter: 2 }, 'retry.jitter', 'option.invalid'],
    [{ strategy: 'linear' }, 'retry.strategy', 'option.invalid'],
    [{ strategy: Object.create(null) }, 'retry.strategy', 'option.invalid'],
    [{ retries: 3 }, 'retry', 'option.unknown'],
    [[], 'retry', 'option.invalid'],
    [null, 'retry', 'option.invalid'],
  ])('%o is refused, naming the field', (options, field, code) => {
    expect(() => parseRetry(options as never, 'retry')).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(field), details: expect.objectContaining({ field }) }),
    )
  })
})
