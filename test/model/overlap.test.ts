import { describe, expect, it } from 'vitest'
import { parseConcurrency, parseRate } from '../../src/model/overlap.ts'

describe('limits as options', () => {
  it('JB-8 name a key and how many', () => {
    expect(parseConcurrency({ key: 'api', limit: 2 }, 'concurrency')).toEqual({ key: 'api', limit: 2 })
    expect(parseRate({ key: 'api', limit: 2, per: '1m' }, 'rate')).toEqual({ key: 'api', limit: 2, perMs: 60_000 })
  })

  it('make a window of no length one of a millisecond', () => {
    expect(() => parseRate({ key: 'api', limit: 2, per: 0 }, 'rate')).toThrow(/rate\.per must be a duration .* from 1/)
  })

  it.each([
    ['a limit of nothing', { key: 'api', limit: 0 }, /job\.concurrency\.limit/],
    ['a limit that is not whole', { key: 'api', limit: 1.5 }, /job\.concurrency\.limit/],
    ['no key', { limit: 1 }, /job\.concurrency\.key/],
    ['an option that is not known', { key: 'api', limit: 1, max: 2 }, /max/],
  ])('refuse %s, naming the field', (_, options, message) => {
    expect(() => parseConcurrency(options as never, 'job.concurrency')).toThrow(message)
  })

  it.each([
    ['no window', { key: 'api', limit: 1 }, /job\.rate\.per/],
    ['a window that is no duration', { key: 'api', limit: 1, per: 'soon' }, /job\.rate\.per/],
    ['a limit of nothing', { key: 'api', limit: 0, per: '1s' }, /job\.rate\.limit/],
  ])('refuse a rate with %s, naming the field', (_, options, message) => {
    expect(() => parseRate(options as never, 'job.rate')).toThrow(message)
  })
})
