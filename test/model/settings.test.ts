import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { overlapPolicies } from '../../src/model/overlap.ts'
import { retryStrategies } from '../../src/model/retry.ts'
import {
  cascade,
  defaultSettings,
  differences,
  failureStrategies,
  parseSettings,
  type Settings,
  taskModes,
} from '../../src/model/settings.ts'

const settings: fc.Arbitrary<Settings> = fc.record({
  retry: fc.record({
    max: fc.constantFrom(3, 0, 7),
    intervalMs: fc.constantFrom(2000, 1),
    factor: fc.constantFrom(2, 1.5),
    maxIntervalMs: fc.constantFrom(3_600_000, 5),
    jitter: fc.constantFrom(0, 0.5),
    share: fc.constantFrom(0.1, 0.5),
    strategy: fc.constantFrom(...retryStrategies, 'custom' as const),
  }),
  timeoutMs: fc.constantFrom(300_000, 1),
  onFailure: fc.constantFrom(...failureStrategies),
  executionTimeoutMs: fc.constantFrom(3_600_000, 2),
  mode: fc.constantFrom(...taskModes),
  priority: fc.constantFrom(5, 0, 9),
  deadLetter: fc.constantFrom(true, false, 'enqueued' as const),
  overlap: fc.constantFrom(...overlapPolicies),
  recovery: fc.constantFrom<Settings['recovery']>(defaultSettings.recovery, { strategy: 'last' }),
  catchUp: fc.constantFrom(10, 1),
  concurrency: fc.constantFrom(null, { key: 'smtp', limit: 2 }),
  rate: fc.constantFrom(null, { key: 'smtp', limit: 2, perMs: 1000 }),
  startWithinMs: fc.constantFrom(null, 5),
  retention: fc.constant(defaultSettings.retention),
  autoPause: fc.constantFrom(null, 3),
  redact: fc.constantFrom(null, ['card.number']),
})

describe('JB-13 the cascade of settings', () => {
  it('begins with the defaults', () => {
    expect(cascade()).toEqual(defaultSettings)
    expect(cascade(null, undefined, {})).toEqual(defaultSettings)
  })

  it('lets later levels win field by field, inside retry too', () => {
    const scheduler = { timeoutMs: 1, retry: { max: 9, factor: 3 } }
    const job = { priority: 2, retry: { max: 1 } }
    const task = { timeoutMs: 7 }
    const { timeoutMs, priority, retry } = cascade(scheduler, job, null, task)
    expect([timeoutMs, priority, retry.max, retry.factor, retry.intervalMs]).toEqual([7, 2, 1, 3, 2000])
  })

  it('changes none of its levels', () => {
    const level = Object.freeze({ retry: Object.freeze({ max: 1 }) })
    cascade(level, { retry: { factor: 9 } })
    expect(level).toEqual({ retry: { max: 1 } })
    expect(defaultSettings.retry.max).toBe(3)
  })

  it('stores only differences', () => {
    expect(differences(defaultSettings)).toBeNull()
    expect(differences({ ...defaultSettings, priority: 1 })).toEqual({ priority: 1 })
    expect(differences(cascade({ retry: { max: 3, factor: 9 } }))).toEqual({ retry: { factor: 9 } })
    expect(differences(cascade({ timeoutMs: 300_000 }))).toBeNull()
  })

  it('is restored from its differences', () => {
    fc.assert(
      fc.property(settings, (all) => {
        expect(cascade(differences(all))).toEqual(all)
      }),
    )
  })

  it('is associative: levels may be frozen on the way', () => {
    fc.assert(
      fc.property(settings, settings, (one, other) => {
        const below = differences(other)
        expect(cascade(differences(cascade(one)), below)).toEqual(cascade(one, below))
      }),
    )
  })
})

describe('settings options', () => {
  it('are kept in stored form, only those given', () => {
    expect(parseSettings({}, 'job')).toEqual({})
    expect(
      parseSettings(
        {
          retry: { max: 1 },
          timeout: '5m',
          onFailure: 'continue',
          executionTimeout: 'PT1H',
          mode: 'parallel',
          priority: 0,
          deadLetter: false,
        },
        'job',
      ),
    ).toEqual({
      retry: { max: 1 },
      timeoutMs: 300_000,
      onFailure: 'continue',
      executionTimeoutMs: 3_600_000,
      mode: 'parallel',
      priority: 0,
      deadLetter: false,
    })
  })

  it.each([
    [{ timeout: 'soon' }, 'job.timeout', 'duration.invalid'],
    [{ executionTimeout: -1 }, 'job.executionTimeout', 'duration.invalid'],
    [{ onFailure: 'ignore' }, 'job.onFailure', 'option.invalid'],
    [{ mode: 'both' }, 'job.mode', 'option.invalid'],
    [{ priority: 10 }, 'job.priority', 'option.invalid'],
    [{ priority: 1.5 }, 'job.priority', 'option.invalid'],
    [{ deadLetter: 'true' }, 'job.deadLetter', 'option.invalid'],
    [{ deadLetter: 1 }, 'job.deadLetter', 'option.invalid'],
    [{ retry: { maximum: 1 } }, 'job.retry', 'option.unknown'],
    [{ retry: 3 }, 'job.retry', 'option.invalid'],
    [{ timeOut: '5m' }, 'job', 'option.unknown'],
  ])('%o is refused, naming the field', (options, field, code) => {
    expect(() => parseSettings(options as never, 'job')).toThrow(
      expect.objectContaining({ code, details: expect.objectContaining({ field }) }),
    )
  })

  it('an unknown option is answered with the allowed ones', () => {
    expect(() => parseSettings({ timeOut: '5m' } as never, 'job "mail"')).toThrow(
      /job "mail" has no option "timeOut"; allowed are .*timeout/,
    )
  })
})
