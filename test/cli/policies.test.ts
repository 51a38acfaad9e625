import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { createPunctual, cron, defineJob, type Punctual } from 'punctual'
import { sqlite } from 'punctual/sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { punctual } from './punctual-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'punctual-policies-'))
const file = join(folder, 'work.db')
const env = { PUNCTUAL_STORE: `sqlite:${file}` }
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const report = defineJob('report', { schedule: cron('0 6 * * *', { timezone: 'Europe/Oslo' }), mode: 'graph' })
  .task('read', () => 'figures')
  .task('send', { after: ['read'] }, () => 'sent')
const broken = defineJob('broken', { retry: { max: 0 } }).task('fall', () => {
  throw new Error('it fell')
})

function node(): Punctual {
  return createPunctual({ store: sqlite(file), jobs: [report, broken], log: silent })
}

/** Runs what is due, and what that creates, as a node would. */
async function runDue(): Promise<void> {
  await using own = node()
  while ((await own.runDue()).claimed > 0);
}

beforeAll(runDue)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function json(...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await punctual([...args, '--json'], { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

async function text(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await punctual(args, { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

describe('JB-20 jobs are changed, compared and taken back', () => {
  test('update makes a version that wins over code, by whoever asked for it', async () => {
    const schedule = ['--schedule', '0 8 * * *', '--tz', 'Europe/Oslo']
    expect(await text('jobs', 'update', 'report', ...schedule, '--by', 'ada')).toMatch(
      /^report has version 2, which holds from \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ on\n$/,
    )
    await json('jobs', 'update', 'report', '--retry', '{"max":7}', '--expect-version', '2')
    await runDue()
    expect((await json('jobs', 'versions', 'report')).items).toMatchObject([
      { version: 1, by: null, scheduleText: 'At 06:00 (Europe/Oslo)' },
      { version: 2, by: 'ada', scheduleText: 'At 08:00 (Europe/Oslo)' },
      { version: 3, by: userInfo().username },
    ])
    expect(await text('jobs', 'versions', 'report')).toMatch(/^VERSION +HOLDS FROM +BY +CHANGED +SCHEDULE\nv1 .* code +At 06:00/)
  })

  test('show tells of the change, and diff of what it changed', async () => {
    expect(await json('jobs', 'show', 'report')).toMatchObject({
      version: 3,
      overridden: ['schedule', 'settings'],
      enabled: true,
      paused: false,
    })
    const page = await text('jobs', 'show', 'report')
    expect(page).toMatch(/^report\n {2}tenant +default\n/)
    expect(page).toMatch(/\n {2}schedule +At 08:00 \(Europe\/Oslo\)\n {2}next run +\d{4}/)
    expect(page).toMatch(/\n {2}overridden +schedule, settings\n/)
    expect(page).toMatch(/\n {2}tasks +read, send after read\n/)
    expect(await text('jobs', 'diff', 'report', '1', '3')).toMatch(
      /^FIELD +V1 +V3\nschedule\.text +"0 6 \* \* \*" +"0 8 \* \* \*"\nsettings\.retry +null +\{"max":7\}\n$/,
    )
    expect(await text('jobs', 'diff', 'report', '2', '2')).toBe('Nothing differs.\n')
    expect(await text('jobs')).toMatch(/\nreport +default +v3 +overridden +\d{4}/)
  })

  test('graceful, and by a number of runs: the version before holds until then', async () => {
    const { effectiveAt } = await json('jobs', 'update', 'report', '--schedule', 'PT1H', '--update', 'graceful')
    const next = new Date((await json('jobs', 'show', 'report')).nextRun)
    expect(new Date(effectiveAt).getTime()).toBe(next.getTime() + 1)
    const later = await json('jobs', 'update', 'report', '--schedule', 'PT2H', '--update', '2')
    expect(new Date(later.effectiveAt).getTime()).toBeGreaterThan(new Date(effectiveAt).getTime())
    const span = await json('jobs', 'update', 'report', '--schedule', 'PT3H', '--update', '90d')
    expect(new Date(span.effectiveAt).getTime()).toBeGreaterThan(Date.now() + 89 * 86_400_000)
  })

  test('rollback and reset bring back what was', async () => {
    await json('jobs', 'rollback', 'report', '2')
    expect(await json('jobs', 'show', 'report')).toMatchObject({ schedule: { words: 'At 08:00 (Europe/Oslo)' } })
    await json('jobs', 'reset', 'report', '--fields', 'schedule')
    expect(await json('jobs', 'show', 'report')).toMatchObject({ schedule: { words: 'At 06:00 (Europe/Oslo)' } })
    await json('jobs', 'reset', 'report')
    expect(await json('jobs', 'show', 'report')).toMatchObject({ overridden: [] })
  })

  test('disabled and enabled; none takes the schedule away', async () => {
    await json('jobs', 'update', 'report', '--no-enabled')
    expect(await text('jobs')).toMatch(/\nreport +default +v\d+ +disabled, overridden +At/)
    expect((await json('explain', 'report')).reasons.map(({ code }: { code: string }) => code)).toContain('disabled')
    await json('jobs', 'update', 'report', '--enabled', '--schedule', 'none')
    expect(await json('jobs', 'show', 'report')).toMatchObject({ enabled: true, schedule: null, nextRun: null })
    await json('jobs', 'reset', 'report')
  })

  test('retire ends a job, and its history stays', async () => {
    await using own = node()
    await own.schedule(report, cron('0 7 * * *'), { name: 'report/old' })
    await json('jobs', 'retire', 'report/old', '--yes')
    expect(await json('jobs', 'show', 'report/old')).toMatchObject({ retired: true, nextRun: null, version: 2 })
    expect((await json('jobs', 'versions', 'report/old')).items).toHaveLength(2)
  })
})

describe('JB-7 pause and resume', () => {
  test('a job, with who, why and until when', async () => {
    expect(await text('pause', 'report', '--for', '2h', '--reason', 'the store moves', '--by', 'ada')).toBe('paused job report\n')
    const { pauses } = await json('jobs', 'show', 'report')
    expect(pauses).toMatchObject([{ job: 'report', reason: 'the store moves', by: 'ada' }])
    expect(new Date(pauses[0].until).getTime() - new Date(pauses[0].from).getTime()).toBe(7_200_000)
    expect(await text('jobs', 'show', 'report')).toMatch(/\n {2}paused +since .*Z until .*Z by ada: the store moves\n/)
    expect(await text('explain', 'report')).toMatch(
      /^job report\n {2}paused +The job is paused since .* by ada: the store moves\n/,
    )
    expect(await text('resume', 'report')).toBe('resumed job report\n')
    expect(await text('resume', 'report')).toBe('unchanged: job report was not paused by itself\n')
  })

  test('a tenant, or everything; a job below stays paused', async () => {
    expect(await json('pause', '--tenant', 'acme', '--yes')).toEqual({ outcome: 'paused' })
    expect(await text('resume', '--tenant', 'acme')).toBe('resumed tenant acme\n')
    await json('pause', '--all', '--reason', 'maintenance', '--yes')
    expect(await text('jobs')).toMatch(/\nbroken +default +v1 +paused/)
    const { code, stderr } = await punctual(['resume', 'report'], { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'note: It is still paused, since everything is.\n' })
    expect(await json('resume', '--all')).toEqual({ outcome: 'resumed' })
  })
})

describe('JB-16 replay', () => {
  test('an occurrence, whole or in single tasks, with its reason', async () => {
    const { id } = await json('trigger', 'report')
    await runDue()
    const again = await json('replay', id, '--reason', 'wrong figures', '--request', 'ticket-7')
    expect(again.outcome).toBe('created')
    expect((await json('replay', id, '--reason', 'wrong figures', '--request', 'ticket-7')).outcome).toBe('existing')
    const part = await json('replay', id, '--task', 'send', '--reason', 'mail was down')
    await runDue()
    expect(await json('occurrences', again.id)).toMatchObject({
      source: 'replay',
      state: 'completed',
      replay: { origin: id, reason: 'wrong figures', tasks: null },
    })
    const { tasks } = await json('occurrences', part.id)
    expect(tasks.map((task: any) => [task.name, task.state, task.attempts.length])).toEqual([
      ['read', 'succeeded', 0],
      ['send', 'succeeded', 1],
    ])
    expect(await text('occurrences', again.id)).toContain(`\n  repeats  ${id}: wrong figures\n`)
  })

  test('all that filters find', async () => {
    for (const key of ['a', 'b']) await json('trigger', 'broken', '--key', key)
    await runDue()
    const { stdout, stderr } = await punctual(['replay', '--job', 'broken', '--state', 'failed', '--reason', 'mended', '--yes'], {
      env,
    })
    const [, id = ''] = /^created (\S+)\n$/.exec(stdout) ?? []
    expect(stderr).toContain(`punctual operations show ${id}`)
    await runDue()
    expect(await json('occurrences', id)).toMatchObject({ job: 'punctual/replay', state: 'completed', result: { created: 2 } })
    expect(await text('occurrences', id)).toMatch(/\n {2}progress +100 %, 2 replays \(create\)\n/)
  })
})

describe('JB-16 backfill', () => {
  const range = ['--from', '2026-01-01', '--to', '2026-02-01']

  test('a dry run tells the exact instants and writes nothing', async () => {
    const found = await json('backfill', 'report', ...range, '--dry-run')
    expect(found).toMatchObject({ kind: 'backfill', matches: 31, acts: 31 })
    expect(found.first.slice(0, 2)).toEqual(['2026-01-01T05:00:00.000Z', '2026-01-02T05:00:00.000Z'])
    const page = await text('backfill', 'report', ...range, '--dry-run')
    expect(page).toMatch(/^31 of 31 would be acted on\.\n\n/)
    expect(page).toMatch(/\n {2}2026-01-20 05:00:00Z\n {2}and 11 more\n$/)
    expect((await json('occurrences', '--job', 'report', ...range)).items).toEqual([])
  })

  test('creates the runs, and afterwards finds them', async () => {
    const week = ['--from', '2026-01-05T00:00:00Z', '--to', '2026-01-08T00:00:00Z']
    const { id } = await json('backfill', 'report', ...week, '--concurrency', '2', '--yes')
    await runDue()
    expect(await json('occurrences', id)).toMatchObject({ job: 'punctual/backfill', state: 'completed', result: { created: 3 } })
    const { items } = await json('occurrences', '--job', 'report', ...week)
    expect(items.map(({ source, state }: any) => `${source} ${state}`)).toEqual(Array(3).fill('backfill completed'))
    expect(await json('backfill', 'report', ...week, '--dry-run')).toMatchObject({
      acts: 0,
      leftOut: [{ reason: 'already completed', count: 3 }],
    })
  })

  test('what can only be a mistake is refused with its count', async () => {
    await using own = node()
    await own.schedule(report, cron('* * * * * *'), { name: 'report/second' })
    const decade = ['--from', '2016-01-01T00:00:00Z', '--to', '2026-01-01T00:00:00Z']
    const { code, stderr } = await punctual(['backfill', 'report/second', ...decade, '--dry-run'], { env })
    expect(code).toBe(1)
    expect(stderr).toMatch(/The range has about 315,6\d\d,\d{3} instants; a backfill may have at most 100,000/)
    await own.retire('report/second')
  })
})

describe('dead', () => {
  test('lists what waits for a person, gives it another chance, and ends it', async () => {
    expect(await text('dead')).toBe('Nothing is dead.\n')
    for (const key of ['x', 'y']) await json('enqueue', 'broken', '--key', key)
    await runDue()
    const { items } = await json('dead', '--job', 'broken')
    expect(items.map(({ key }: any) => key)).toEqual(['y', 'x'])
    expect(await text('dead', 'list', '--limit', '1')).toMatch(
      /^JOB +KEY +DIED +ID +ERROR\nbroken +y +.* it fell\n\nMore: --cursor /,
    )
    const [y, x] = items
    expect(await text('dead', 'retry', x.id, '--delay', '1h')).toBe(`retrying ${x.id}\n`)
    expect((await json('explain', x.id)).reasons[0]).toMatchObject({ code: 'retrying' })
    expect(await text('dead', 'discard', y.id, '--reason', 'done by hand', '--yes')).toBe(`discarded ${y.id}\n`)
    expect(await json('occurrences', y.id)).toMatchObject({ state: 'canceled', reason: 'done by hand' })
    expect((await json('explain', 'broken', '--key', 'y')).reasons[0].message).toContain('It ended as canceled')
  })
})

describe('exit codes', () => {
  test.each([
    [['jobs', 'show', 'reprot'], '(job.unknown)'],
    [['jobs', 'versions', 'reprot'], '(job.unknown)'],
    [['jobs', 'diff', 'report', '1', '99'], 'has no version 99'],
    [['jobs', 'update', 'report', '--schedule', '61 * * * *'], '(schedule.invalid)'],
    [['jobs', 'update', 'report', '--no-enabled', '--expect-version', '1'], '(job.outdated)'],
    [['jobs', 'update', 'report', '--retry', '{"times":3}'], '(option.unknown)'],
    [['jobs', 'rollback', 'report', '99'], '(job.unknown)'],
    [['pause', 'report', '--until', 'tomorrow'], '(request.invalid)'],
    [['pause', 'stranger'], '(job.unknown)'],
    [['replay', 'unknown-id', '--reason', 'x'], '(occurrence.unknown)'],
    [['backfill', 'report', '--from', '2026-02-01T00:00:00Z', '--to', '2026-01-01T00:00:00Z'], '(option.invalid)'],
    [['explain', 'reprot'], 'There is neither a job nor an occurrence "reprot"'],
    [['dead', 'retry', 'unknown-id'], '(occurrence.unknown)'],
    [['pause', '--all', '--store', 'memory:'], '(config.invalid)'],
  ])('1: %j is refused', async (args, message) => {
    const { code, stdout, stderr } = await punctual(args, { env })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(message)
  })

  test.each([
    [['pause'], 'name a job, or a tenant with --tenant, or say --all for everything'],
    [['resume', 'report', '--all'], 'name a job, or a tenant'],
    [['replay', '--reason', 'x'], 'name one occurrence by its id, or several by filters'],
    [['replay', 'id', '--job', 'report', '--reason', 'x'], 'name one occurrence by its id'],
    [['replay', '--job', 'report', '--task', 'send', '--reason', 'x'], '--task and --request go with the id'],
    [['replay', 'id'], "required option '--reason <text>' not specified"],
    [['backfill', 'report'], "required option '--from <instant>' not specified"],
    [['jobs', 'update', 'report'], 'say what to change'],
    [['jobs', 'update', 'report', '--tz', 'Europe/Oslo'], '--tz goes with --schedule'],
    [['jobs', 'update', 'report', '--enabled', '--update', 'soon'], 'It must be immediate, graceful'],
    [['jobs', 'diff', 'report', 'v1', 'v2'], 'It must be a whole number'],
    [['dead', 'revive'], 'too many arguments'],
  ])('2: %j is not understood', async (args, message) => {
    const { code, stdout, stderr } = await punctual(args, { env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })
})
