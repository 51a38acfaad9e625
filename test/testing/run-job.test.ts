import { setTimeout as pause } from 'node:timers/promises'
import { createPunctual, cron, defineJob } from 'punctual'
import { memory } from 'punctual/memory'
import { sqlite } from 'punctual/sqlite'
import { manualClock, probe, runJob } from 'punctual/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { databasePath } from '../support/database-path.ts'

const invoice = defineJob('invoice', {
  payload: z.object({ customer: z.string() }),
  retry: { max: 2, interval: '10m' },
})
  .task('usage', ({ payload }) => ({ hours: payload.customer.length }))
  .task('render', ({ results }) => `${results.usage.hours} hours`)
  .task('send', ({ results, attempt, fail }) => (attempt < 3 ? fail('the mail server is busy') : `sent: ${results.render}`))

describe('runJob', () => {
  test('runs all tasks and their retries, and returns the report and the results', async () => {
    const { state, result, results, error, report } = await runJob(invoice, { customer: 'acme' })
    expect(state).toBe('completed')
    expect(result).toBe('sent: 4 hours')
    expect(results).toEqual({ usage: { hours: 4 }, render: '4 hours', send: 'sent: 4 hours' })
    expect(error).toBeNull()
    expect(report.tasks.map(({ task, attempts }) => [task, attempts])).toEqual([
      ['usage', 1],
      ['render', 1],
      ['send', 3],
    ])
    expect(report.attempts.map(({ startedAt }) => startedAt?.toISOString().slice(11, 16))).toEqual([
      '00:00',
      '00:00',
      '00:00',
      '00:10',
      '00:30',
    ])
  })

  test('takes fakes for handlers, options of the occurrence and the instant', async () => {
    const seen: unknown[] = []
    const { results, occurrence } = await runJob(
      invoice,
      { customer: 'acme' },
      {
        handlers: {
          usage: () => ({ hours: 7 }),
          send: ({ results, tenant, scheduledAt, refs }) => {
            seen.push(tenant, scheduledAt.toISOString(), refs)
            return `fake ${results.render}`
          },
        },
        options: { tenant: 'globex', refs: { order: '1' }, key: 'k' },
        now: '2026-03-29T00:59:00Z',
      },
    )
    expect(results.send).toBe('fake 7 hours')
    expect(seen).toEqual(['globex', '2026-03-29T00:59:00.000Z', { order: '1' }])
    expect(occurrence).toMatchObject({ tenant: 'globex', key: 'k', createdAt: new Date('2026-03-29T00:59:00Z') })
  })

  test('a run that fails resolves, with the error and the results so far', async () => {
    const { state, result, results, error } = await runJob(invoice, { customer: 'acme' }, { options: { retry: { max: 0 } } })
    expect([state, result, error?.message]).toEqual(['dead', undefined, 'the mail server is busy'])
    expect(results).toEqual({ usage: { hours: 4 }, render: '4 hours' })
  })

  test('waits for real I/O and for onComplete, and lets a handler that hangs run into its timeout', async () => {
    const done: string[] = []
    const real = defineJob('real', { onComplete: ({ outcome }) => void done.push(outcome) }, async () => {
      await pause(20)
      return 'real'
    })
    expect((await runJob(real)).result).toBe('real')
    expect(done).toEqual(['completed'])
    const hangs = defineJob('hangs', { timeout: '2h', executionTimeout: '3h', retry: { max: 1 } }, () => new Promise(() => {}))
    const { state, report } = await runJob(hangs)
    expect([state, report.attempts.map((attempt) => attempt.state)]).toEqual(['dead', ['timeout', 'timeout']])
  })

  test('the schedule of the job is left out', async () => {
    let runs = 0
    const often = defineJob('often', { schedule: cron('* * * * *'), retry: { max: 1, interval: '1h' } }, ({ attempt, fail }) => {
      runs += 1
      return attempt === 1 ? fail('again') : runs
    })
    expect((await runJob(often)).result).toBe(2)
  })

  test('refuses bad payloads, unknown tasks and tasks without a handler', async () => {
    await expect(runJob(invoice, { customer: 5 } as never)).rejects.toMatchObject({ code: 'payload.rejected' })
    await expect(runJob(invoice, { customer: 'a' }, { handlers: { sned: () => 1 } as never })).rejects.toMatchObject({
      code: 'option.unknown',
    })
    await expect(runJob(defineJob('bare').task('apart'))).rejects.toMatchObject({ code: 'option.invalid' })
    await expect(runJob('invoice' as never, undefined as never)).rejects.toMatchObject({ code: 'option.invalid' })
    const missed = runJob(
      defineJob('late', () => 1),
      undefined,
      { options: { runAt: '2020-01-01T00:00:00Z', startWithin: '1s' } },
    )
    await expect(missed).rejects.toMatchObject({ code: 'occurrence.missed' })
  })
})

describe('the guide to testing', () => {
  test.each(['memory', 'sqlite'])('a reminder after 15 minutes, on %s', async (name) => {
    const clock = manualClock('2026-03-01T12:00:00Z')
    const remind = defineJob<{ order: number }>('remind', {}, ({ payload }) => `reminded of ${payload.order}`)
    const store = name === 'memory' ? memory() : sqlite(databasePath())
    await using punctual = createPunctual({ store, clock, jobs: [remind] })
    const events = probe(punctual)
    await punctual.start()
    const handle = await punctual.enqueue(remind, { order: 42 }, { key: 'order-42', delay: '15m' })
    await clock.advance('14m')
    expect(events.seen('occurrence.completed')).toHaveLength(0)
    await clock.advance('1m')
    expect(await handle.result()).toBe('reminded of 42')
    expect(await events.next('occurrence.completed')).toMatchObject({ job: 'remind', key: 'order-42' })
  })

  test('a nightly job runs once in the night of a clock change', async () => {
    const nightly = cron('30 2 * * *', { timezone: 'Europe/Warsaw' })
    // At 02:00 the clocks go to 03:00: 02:30 does not exist.
    const spring = [...nightly.between(new Date('2026-03-28T12:00:00Z'), new Date('2026-03-30T12:00:00Z'))]
    expect(spring.map((at) => at.toISOString())).toEqual(['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'])
    const clock = manualClock('2026-10-24T12:00:00Z')
    const runs: string[] = []
    const report = defineJob('report', { schedule: nightly }, ({ scheduledAt }) => void runs.push(scheduledAt.toISOString()))
    await using punctual = createPunctual({ store: memory(), clock, jobs: [report] })
    await punctual.start()
    // At 03:00 the clocks go back to 02:00: 02:30 is there twice.
    await clock.advanceTo('2026-10-26T12:00:00Z')
    expect(runs).toEqual(['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'])
  })
})
