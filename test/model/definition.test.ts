import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Registry } from '../../src/engine/node/registry.ts'
import { defineJob, tasksOf } from '../../src/model/definition.ts'
import { jobSpec, specText } from '../../src/model/job.ts'
import { cron } from '../../src/schedule/cron.ts'

const refusal = (code: string, message: RegExp) => expect.objectContaining({ code, message: expect.stringMatching(message) })

describe('a definition', () => {
  it('keeps its name, its settings in stored form and its tasks in order', () => {
    const job = defineJob('invoice', { retry: { max: 3, interval: '30s' }, timeout: '2m', mode: 'graph' })
      .task('usage', () => 1)
      .task('render', { after: ['usage'], timeout: '5s' }, ({ results }) => results.usage)
      .task('send')
    expect(job.settings).toEqual({ retry: { max: 3, intervalMs: 30_000 }, timeoutMs: 120_000, mode: 'graph' })
    expect(job.tasks.map(({ name, after, settings, handler }) => [name, after, settings, typeof handler])).toEqual([
      ['usage', undefined, {}, 'function'],
      ['render', ['usage'], { timeoutMs: 5000 }, 'function'],
      ['send', undefined, {}, 'undefined'],
    ])
  })

  it('of one step has its handler right there', () => {
    const handler = () => 1
    for (const job of [defineJob('remind', handler), defineJob('remind', {}, handler)])
      expect(job.tasks).toEqual([{ name: 'run', after: undefined, settings: {}, retryFunction: undefined, handler }])
    expect(defineJob('remind', { timeout: '1s' }, handler).settings).toEqual({ timeoutMs: 1000 })
    expect(() => defineJob('remind', {}, 5 as never)).toThrow(refusal('option.invalid', /must be a function/))
  })

  it('is immutable: a task makes another', () => {
    const empty = defineJob('mail')
    const one = empty.task('send')
    expect([empty.tasks.length, one.tasks.length]).toEqual([0, 1])
  })

  it('TM-2 without tasks has the one task run, whose handler is registered elsewhere', () => {
    expect(tasksOf(defineJob('mail')).map(({ name, handler }) => [name, handler])).toEqual([['run', undefined]])
  })

  it('keeps a retry function with the code and stores that there is one', () => {
    const strategy = () => 5
    const job = defineJob('mail', { retry: { strategy } }).task('send', { retry: { strategy } })
    expect([job.retryFunction, job.settings.retry]).toEqual([strategy, { strategy: 'custom' }])
    expect(job.tasks[0]?.retryFunction).toBe(strategy)
  })

  it.each([
    ['a name that is none', () => defineJob(''), 'name.invalid', /name of a job/],
    ['a name that is no text', () => defineJob(5n as never), 'name.invalid', /got 5n/],
    [
      'an unknown option',
      () => defineJob('mail', { retrys: {} } as never),
      'option.unknown',
      /job "mail" has no option "retrys"/,
    ],
    ['options that are none', () => defineJob('mail', 'daily' as never), 'option.invalid', /job "mail" must be an object/],
    [
      'a payload that is no schema',
      () => defineJob('mail', { payload: { type: 'object' } } as never),
      'option.invalid',
      /Standard Schema/,
    ],
    [
      'a hook that is no function',
      () => defineJob('mail', { onStart: 'log' } as never),
      'option.invalid',
      /onStart of job "mail"/,
    ],
    [
      'a schedule that is none',
      () => defineJob('mail', { schedule: '* * * * *' } as never),
      'schedule.invalid',
      /schedule of job "mail"/,
    ],
    ['a schedule that never fires', () => defineJob('mail', { schedule: cron('0 0 30 2 *') }), 'schedule.never', /never fires/],
    ['a duration that is none', () => defineJob('mail', { timeout: 'soon' }), 'duration.invalid', /job "mail"\.timeout/],
    ['a task name that is none', () => defineJob('mail').task(' ' as never), 'name.invalid', /name of a task of job "mail"/],
    ['a task name that is no text', () => defineJob('mail').task(5n as never), 'name.invalid', /got 5n/],
    [
      'a repeated task name',
      () =>
        defineJob('mail')
          .task('send')
          .task('send' as never),
      'task.duplicate',
      /two tasks named "send"/,
    ],
    [
      'an unknown predecessor',
      () =>
        defineJob('mail', { mode: 'graph' })
          .task('a')
          .task('b', { after: ['c' as never] }),
      'task.unknown',
      /names "c"/,
    ],
    [
      'a task after itself',
      () => defineJob('mail', { mode: 'graph' }).task('a', { after: ['a' as never] }),
      'task.cycle',
      /waits for itself/,
    ],
    [
      'an after that is no list',
      () =>
        defineJob('mail', { mode: 'graph' })
          .task('a')
          .task('b', { after: 'a' as never }),
      'option.invalid',
      /list of task names/,
    ],
    [
      'an unknown option of a task',
      () => defineJob('mail').task('a', { mode: 'parallel' } as never),
      'option.unknown',
      /allowed are .*after/,
    ],
    [
      'options of a task that are none',
      () => defineJob('mail').task('a', 5 as never),
      'option.invalid',
      /task "a" of job "mail" must be an object/,
    ],
    [
      'a handler that is none',
      () => defineJob('mail').task('a', {}, 'send' as never),
      'option.invalid',
      /The handler of task "a" of job "mail"/,
    ],
  ])('refuses %s', (_, define, code, message) => {
    expect(define).toThrow(refusal(code, message))
  })

  it('TM-6 is the only one of its name', () => {
    const registry = new Registry()
    registry.define(defineJob('mail'))
    expect(() => registry.define(defineJob('mail'))).toThrow(refusal('definition.duplicate', /Two jobs are named "mail"/))
  })
})

describe('the stored spec of a job', () => {
  const job = defineJob('invoice', { payload: z.object({}), timeout: '1m', mode: 'graph' })
    .task('a', () => 1)
    .task('b', { after: ['a'] }, () => 2)

  it('holds what the definition and its use declare, and no code', () => {
    expect(jobSpec(job, { schedule: { kind: 'cron' }, payload: '{}', settings: { priority: 1 } })).toEqual({
      definition: 'invoice',
      schedule: { kind: 'cron' },
      payload: '{}',
      settings: { priority: 1 },
      defaults: { timeoutMs: 60_000, mode: 'graph' },
      tasks: [{ name: 'a' }, { name: 'b', after: ['a'] }],
      isEnabled: true,
      isRetired: false,
    })
  })

  it('has one text, whatever the order of its fields, and lists keep theirs', () => {
    const spec = jobSpec(job, { settings: { timeoutMs: 1, retry: { max: 1, factor: 2 } } })
    const turned = {
      ...Object.fromEntries(Object.entries(spec).reverse()),
      settings: { retry: { factor: 2, max: 1 }, timeoutMs: 1 },
    } as typeof spec
    expect(specText(turned)).toBe(specText(spec))
    expect(specText({ ...spec, tasks: spec.tasks.toReversed() })).not.toBe(specText(spec))
  })
})
