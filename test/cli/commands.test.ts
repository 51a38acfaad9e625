import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPunctual, cron, defineJob } from 'punctual'
import { sqlite } from 'punctual/sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { punctual } from './punctual-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'punctual-cli-'))
const file = join(folder, 'work.db')
const env = { PUNCTUAL_STORE: `sqlite:${file}` }
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const report = defineJob('report', { schedule: cron('0 6 * * *', { timezone: 'Europe/Oslo' }) }).task('build', () => 'built')
const broken = defineJob('broken', { retry: { max: 0 } }).task('fall', () => {
  throw new Error('it \u001b[31mfell\nhard')
})

/** Runs what is due, as a node would. */
async function runDue(): Promise<void> {
  await using node = createPunctual({ store: sqlite(file), jobs: [report, broken], log: silent })
  await node.runDue()
}

beforeAll(runDue)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function json(...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await punctual([...args, '--json'], { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

describe('commands on a store', () => {
  test('jobs lists them with schedule and next run', async () => {
    const { code, stdout } = await punctual(['jobs'], { env })
    expect(code).toBe(0)
    const [title, ...rows] = stdout.trimEnd().split('\n')
    expect(title).toMatch(/^JOB +TENANT +VERSION +STATUS +NEXT RUN +LAST RUN +SCHEDULE$/)
    expect(rows[0]).toMatch(/^broken +default +v1 +none$/)
    expect(rows[1]).toMatch(/^report +default +v1 +\d{4}-\d\d-\d\d 0[45]:00:00Z +At 06:00 \(Europe\/Oslo\)$/)
    expect((await json('jobs', '--tenant', 'nobody')).items).toEqual([])
  })

  test('session says what a command on a store may do: all that an admin may', async () => {
    const { role, may } = await json('session')
    expect(role).toBe('admin')
    expect(may).toContain('tokens.create')
  })

  test('enqueue, occurrences and cancel speak of the same work', async () => {
    const first = await json(
      'enqueue',
      'report',
      '{"day":1}',
      '--key',
      'day-1',
      '--delay',
      '1h',
      '--entity',
      'acme',
      '--refs',
      '{"invoice":"INV-7"}',
      '--priority',
      '2',
    )
    expect(first.outcome).toBe('created')
    expect((await json('enqueue', 'report', '{"day":2}', '--key', 'day-1')).outcome).toBe('existing')
    expect((await punctual(['enqueue', 'report', '{"day":2}', '--key', 'day-1'], { env })).stdout).toBe(
      `existing ${first.id} (the existing work has another payload)\n`,
    )
    expect((await json('occurrences', '--key', 'day-1', '--state', 'pending', 'running')).items).toMatchObject([
      { id: first.id, entity: 'acme', state: 'pending' },
    ])
    expect(await json('occurrences', first.id)).toMatchObject({ payload: { day: 1 }, refs: { invoice: 'INV-7' }, priority: 2 })
    expect(await json('cancel', '--job', 'report', '--key', 'day-1', '--reason', 'not needed')).toEqual({ outcome: 'canceled' })
    expect(await json('cancel', first.id)).toEqual({ outcome: 'canceled' })
    expect(await json('occurrences', first.id)).toMatchObject({ state: 'canceled', reason: 'not needed' })
  })

  test('enqueue refuses a job that nobody has declared', async () => {
    const { code, stdout, stderr } = await punctual(['enqueue', 'reprot', '--tenant', 'acme'], { env })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('There is no job or definition "reprot" (job.unknown)')
    expect((await punctual(['enqueue', 'report', '--tenant', 'acme', '--delay', '1h'], { env })).stderr).toBe('')
  })

  test('cancel by entity takes all that is pending about it', async () => {
    for (const key of ['a', 'b']) await json('enqueue', 'report', '--key', key, '--entity', 'globex', '--delay', '1h')
    expect(await json('cancel', '--job', 'report', '--entity', 'globex')).toEqual({ outcome: 'canceled' })
    expect((await json('occurrences', '--entity', 'globex', '--state', 'canceled')).items).toHaveLength(2)
  })

  test('trigger runs a job now, and occurrences tells how it went', async () => {
    const { id } = await json('trigger', 'report')
    await runDue()
    expect(await json('occurrences', id)).toMatchObject({ source: 'manual', state: 'completed', result: 'built' })
    const { stdout } = await punctual(['occurrences', id], { env })
    expect(stdout).toMatch(/state +completed\n/)
    expect(stdout).toMatch(/\nTASK +STATE +ATTEMPT +STARTED +ERROR\nbuild +succeeded +1 /)
  })

  test('S31: what a task has thrown cannot steer the terminal', async () => {
    await json('trigger', 'broken', '--key', 'once')
    await runDue()
    const { stdout } = await punctual(['occurrences', '--job', 'broken'], { env })
    expect(stdout).toContain('it \\u{1b}[31mfell\\u{a}hard')
    expect(stdout).not.toContain('\u001b')
  })

  test('occurrences pages by its cursor', async () => {
    const first = await json('occurrences', '--limit', '1')
    expect(first.items).toHaveLength(1)
    const second = await json('occurrences', '--limit', '1', '--cursor', first.cursor)
    expect(second.items[0].id).not.toBe(first.items[0].id)
    expect((await punctual(['occurrences', '--limit', '1'], { env })).stdout).toContain(`More: --cursor ${first.cursor}`)
  })

  test('nodes lists those that work on the store', async () => {
    await using node = createPunctual({ store: sqlite(file), jobs: [report], name: 'north', concurrency: 3, log: silent })
    await node.start()
    expect((await json('nodes')).items).toMatchObject([{ name: 'north', concurrency: 3, pid: process.pid }])
    expect((await punctual(['nodes'], { env })).stdout).toMatch(/^NODE .*\nnorth +open +\d+ +0\/3 /)
  })
})

describe('exit codes', () => {
  test.each([
    [['cancel', 'unknown-id'], 'There is no occurrence unknown-id (occurrence.unknown)'],
    [['occurrences', 'unknown-id'], 'There is no occurrence unknown-id (occurrence.unknown)'],
    [['cancel', '--job', 'report', '--key', 'unknown'], 'There is no such work (occurrence.unknown)'],
    [['trigger', 'nothing'], 'There is no job "nothing" in tenant "default" (job.unknown)'],
    [['enqueue', ' '], '(job.unknown)'],
    [['enqueue', 'report', '--run-at', 'soon'], '(request.invalid)'],
    [['enqueue', 'report', '--delay', 'soon'], '(duration.invalid)'],
    [['occurrences', '--from', 'yesterday'], '(request.invalid)'],
    [['jobs', 'retire', 'report'], 'add --yes (config.invalid)'],
  ])('1: %j is refused', async (args, message) => {
    const { code, stdout, stderr } = await punctual(args, { env })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('    at ')
  })

  test('1 with --json: the error is JSON on standard error', async () => {
    const { code, stderr } = await punctual(['trigger', 'nothing', '--json'], { env })
    expect(code).toBe(1)
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'job.unknown', details: { job: 'nothing' } } })
  })

  test.each([
    [['fly'], "unknown command 'fly'"],
    [['jobs', '--colour'], "unknown option '--colour'"],
    [['jobs', 'extra'], 'too many arguments'],
    [['enqueue'], "missing required argument 'job'"],
    [['enqueue', 'report', '{day:1}'], 'It must be JSON'],
    [['enqueue', 'report', '--priority', '10'], 'It must be a whole number from 0 to 9'],
    [['enqueue', 'report', '--refs', 'INV-7'], 'It must be JSON'],
    [['occurrences', '--state', 'happy'], 'Allowed choices are pending, waiting'],
    [['occurrences', '--limit', '1e3'], 'It must be a whole number from 1 to 500'],
    [['cancel'], 'name the work by its id, by --job and --key or --idempotency-key, by --job and --entity, or by'],
    [['cancel', 'id', '--job', 'report'], 'name the work by its id'],
    [['cancel', '--job', 'report', '--key', 'k', '--entity', 'e'], 'cannot be used with option'],
    [['serve', '--jobs', 'x.ts', '--port', '70000'], 'It must be a whole number from 0 to 65535'],
  ])('2: %j is not understood', async (args, message) => {
    const { code, stdout, stderr } = await punctual(args, { env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })

  test('2: a command without its store says where to name it', async () => {
    const { code, stderr } = await punctual(['jobs'])
    expect(code).toBe(2)
    expect(stderr).toContain("required option '--store <url>' not specified")
  })

  test('2: a port in the environment that is none', async () => {
    const { code, stderr } = await punctual(['serve', '--jobs', 'test/cli/serve-jobs.process.ts'], {
      env: { ...env, PORT: 'http' },
    })
    expect(code).toBe(2)
    expect(stderr).toContain('PORT')
  })
})

describe('store URLs', () => {
  test.each([
    'postgres:hunter2',
    'redis://:hunter2@cache',
    'mysql:hunter2',
    './hunter2.db',
    'sqlite:',
    'sqlite://hunter2/x.db',
    'memory:hunter2',
    '',
  ])('%s is refused, names what is allowed and repeats no secret', async (url) => {
    const { code, stderr } = await punctual(['jobs', '--store', url])
    expect(code).toBe(1)
    expect(stderr).toContain('postgres://user@host/database, sqlite:./file.db and memory:')
    expect(stderr).toContain('(config.invalid)')
    expect(stderr).not.toContain('hunter2')
  })

  test.each([
    ['sqlite://x.db', 'write sqlite:./file.db'],
    ['sqlite:./x.db?journal=wal&mode=ro', 'takes no parameters; got journal, mode'],
    [
      'postgres://ada:hunter2@localhost/app?shcema=jobs',
      'has no parameter "shcema". Did you mean schema? The store takes schema,',
    ],
    ['postgres://ada:hunter2@localhost/app?pgbouncer=true', 'has no parameter "pgbouncer"'],
  ])('%s: the error helps', async (url, help) => {
    const { code, stderr } = await punctual(['jobs', '--store', url])
    expect(code).toBe(1)
    expect(stderr).toContain(help)
    expect(stderr).toContain('(config.invalid)')
    expect(stderr).not.toContain('hunter2')
  })

  test('memory: is refused where no other process could see it', async () => {
    expect(await punctual(['enqueue', 'report', '--store', 'memory:'])).toMatchObject({ code: 1 })
  })

  test('a file that is not there is not made', async () => {
    const { code, stderr } = await punctual(['jobs', '--store', `sqlite:${join(folder, 'typo.db')}`])
    expect(code).toBe(1)
    expect(stderr).toContain('There is no file')
  })
})

/** The commands below a command, each with its full name. */
async function below(command: string): Promise<string[]> {
  const { stdout } = await punctual([command, '--help'])
  return [...stdout.matchAll(/^ {2}([a-z]+) (?!\[command\])/gm)].map(([, name]) => `${command} ${name}`)
}

describe('help', () => {
  test('every command has an example', async () => {
    const { code, stdout } = await punctual(['--help'])
    expect(code).toBe(0)
    const names = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name as string).filter((name) => name !== 'help')
    expect(names).toEqual(
      expect.arrayContaining([
        'serve',
        'next',
        'jobs',
        'occurrences',
        'nodes',
        'enqueue',
        'trigger',
        'cancel',
        'dead',
        'migrate',
      ]),
    )
    for (const name of [...names, ...(await below('jobs')), ...(await below('dead'))]) {
      const help = await punctual([...name.split(' '), '--help'])
      expect(help.code).toBe(0)
      expect(help.stdout).toMatch(new RegExp(`Example:\\n {2}\\$ punctual ${name} `))
    }
  })

  test('without a command, the help is shown and nothing was done', async () => {
    expect((await punctual([])).code).toBe(2)
  })
})
