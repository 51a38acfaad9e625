import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDuration } from '../../src/time/duration.ts'

describe('durations', () => {
  it.each([
    ['250ms', 250],
    ['90s', 90_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1w', 604_800_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['0s', 0],
    ['PT1H30M', 5_400_000],
    ['PT0.25S', 250],
    ['P1DT12H', 129_600_000],
    ['P3W', 1_814_400_000],
    ['PT36H', 129_600_000],
    [0, 0],
    [1500, 1500],
    [0.4, 0],
    ['365250d', 31_557_600_000_000],
  ])('%s is %d ms', (input, ms) => {
    expect(parseDuration(input)).toBe(ms)
  })

  it.each([
    '',
    's',
    '5',
    '5 m',
    '-5m',
    '5m-1s',
    '5min',
    '5M',
    'P',
    'PT',
    'P1DT',
    'P1Y',
    'P1M',
    'p1d',
    'PT1H30',
    '1e3s',
    'NaN',
    `${'9'.repeat(20)}w`,
    '1s'.repeat(40),
    '365250d1ms',
    Number.MAX_SAFE_INTEGER,
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    null,
    undefined,
    5n,
    {},
    [5],
    new Date(0),
  ])('%o is refused, naming the field and what is allowed', (input) => {
    expect(() => parseDuration(input as never, 'retry.interval')).toThrow(
      expect.objectContaining({
        code: 'duration.invalid',
        message: expect.stringMatching(
          /^retry\.interval must be a duration such as '90s', '5m', 'PT1H30M' or a number of milliseconds/,
        ),
        details: expect.objectContaining({ field: 'retry.interval' }),
      }),
    )
  })

  it('mean the same in both notations', () => {
    const part = fc.nat(500)
    fc.assert(
      fc.property(part, part, part, part, (d, h, m, s) => {
        expect(parseDuration(`P${d}DT${h}H${m}M${s}S`)).toBe(parseDuration(`${d}d${h}h${m}m${s}s`))
      }),
    )
  })

  it('never run away on hostile text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 100 }), (text) => {
        try {
          expect(parseDuration(text)).toBeGreaterThanOrEqual(0)
        } catch (error) {
          expect(error).toMatchObject({ code: 'duration.invalid' })
        }
      }),
    )
  })
})
