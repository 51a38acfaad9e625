import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createPunctual, defineJob, interval, type Punctual, PunctualError } from 'punctual'
import { createHandler } from 'punctual/http'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'
import { describe, expect, test } from 'vitest'
import { metrics } from '../../src/client/metrics/metric.ts'
import { programsOf, promtool } from '../support/servers/needed.ts'
import { silent } from './asker.ts'

const good = defineJob('good')
  .task('one', () => 1)
  .task('two', () => 2)
const bad = defineJob('bad', { retry: { max: 1, interval: '1s' } }).task('fall', () => {
  throw new Error('it fell')
})
const slow = defineJob('slow', { timeout: '1s', retry: { max: 0 } }).task('hang', ({ signal }) => {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
})
const hourly = defineJob('hourly', { schedule: interval('PT1H'), recovery: 'mark-missed' }).task('run', () => {})

describe('JB-18 /metrics', () => {
  test('has the names and label values of the document, and promtool has no complaint but about them', async () => {
    await using scene = newScene()
    await scene.work()
    const text = await scene.scrape()
    const checked = spawnSync(programsOf(promtool), ['check', 'metrics'], { input: text, encoding: 'utf8' })
    const complaints = `${checked.stdout}${checked.stderr}`.split('\n').filter((line) => line !== '')
    expect(complaints.map((line) => line.split(' ')[0])).toEqual([
      'scheduler_jobs_in_queue_total',
      'scheduler_jobs_paused_total',
      'scheduler_jobs_running_total',
    ])
    expect(complaints.every((line) => line.includes('should not have "_total" suffix'))).toBe(true)
    expect(sample(text, 'scheduler_task_attempts_total{job="good",task="one",status="success"}')).toBe(2)
    expect(sample(text, 'scheduler_task_attempts_total{job="bad",task="fall",status="failure"}')).toBe(2)
    expect(sample(text, 'scheduler_task_attempts_total{job="slow",task="hang",status="timeout"}')).toBe(1)
    expect(sample(text, 'scheduler_task_execution_duration_seconds_count{job="good",task="two"}')).toBe(2)
    expect(sample(text, 'scheduler_job_execution_duration_seconds_count{job="bad"}')).toBe(2)
    expect(sample(text, 'scheduler_job_lateness_seconds_count{job="bad"}')).toBe(1)
    expect(sample(text, 'scheduler_job_wait_seconds_count{job="bad"}')).toBe(2)
    expect(sample(text, 'scheduler_gate_reservations_total{outcome="done"}')).toBe(1)
    expect(sample(text, 'scheduler_jobs_paused_total')).toBe(1)
    expect(sample(text, 'scheduler_store_call_duration_seconds_count{verb="settle"}')).toBeGreaterThan(0)
  })

  test('counts of ended work agree with a recount of the store', async () => {
    await using scene = newScene()
    await scene.work()
    const text = await scene.scrape()
    const counts = await scene.punctual.counts()
    for (const status of ['completed', 'failed', 'dead', 'canceled', 'skipped', 'missed'] as const)
      expect(endedOf(text, status), status).toBe(counts[status])
    expect(counts).toMatchObject({ completed: 2, dead: 2, canceled: 1, pending: 1 })
    expect(sample(text, 'scheduler_occurrences{state="dead"}')).toBe(2)
  })

  test('a gap is counted under the name of its strategy, with the instants it passed over', async () => {
    const clock = manualClock()
    const store = memory()
    const first = createPunctual({ store, clock, jobs: [hourly], log: silent })
    await first.start()
    await first.stop()
    await clock.advance('5h')
    await using scene = newScene({ clock, store, jobs: [hourly] })
    await scene.punctual.start()
    await scene.punctual.idle()
    const text = await scene.scrape()
    expect(sample(text, 'scheduler_recovery_runs_total{job="hourly",strategy="skip"}')).toBe(1)
    const { missed } = await scene.punctual.counts()
    expect(missed).toBeGreaterThan(0)
    expect(sample(text, 'scheduler_job_occurrences_total{job="hourly",status="missed"}')).toBe(missed)
    expect(sample(text, 'scheduler_nodes')).toBe(1)
    expect(sample(text, 'scheduler_node_healthy')).toBe(1)
  })

  test('the 201st job is counted as _other', async () => {
    const jobs = Array.from({ length: 203 }, (_, at) => defineJob(`job-${at}`, () => at))
    await using scene = newScene({ jobs })
    for (const job of jobs) await scene.punctual.enqueue(job)
    await scene.punctual.runDue({ limit: 1000 })
    const lines = (await scene.scrape()).split('\n').filter((line) => line.startsWith('scheduler_job_occurrences_total{'))
    expect(lines).toHaveLength(201)
    expect(lines.find((line) => line.includes('"_other"'))).toMatch(/ 3$/)
  })

  test('S43: 2,000 names of jobs, tenants, keys and errors make no more series than 300', async () => {
    const jobs = Array.from({ length: 2000 }, (_, at) =>
      defineJob(`job-${at}`, { retry: { max: 0 } }).task(`task-${at}`, () => {
        throw Object.assign(new Error(`error ${at}`), { code: `E${at}` })
      }),
    )
    await using scene = newScene({ jobs })
    const run = async (some: typeof jobs) => {
      for (const job of some) {
        const name = job.name
        await scene.punctual.enqueue(job, undefined, { tenant: `tenant-${name}`, key: `key-${name}`, entity: `entity-${name}` })
      }
      for (let claimed = 1; claimed > 0; ) claimed = (await scene.punctual.runDue({ limit: 1000 })).claimed
      return scene.scrape()
    }
    const seriesOf = (text: string) => text.split('\n').filter((line) => /^scheduler_/.test(line)).length
    const before = seriesOf(await run(jobs.slice(0, 300)))
    const text = await run(jobs.slice(300))
    expect(seriesOf(text)).toBe(before)
    expect(text).not.toMatch(/tenant-|key-job|entity-|E\d|error \d/)
  })

  test('while the store is away the counters stay, and gauges of the store are left out', async () => {
    const store = memory()
    await using scene = newScene({ store })
    await scene.work()
    expect(await scene.scrape()).toContain('\nscheduler_oldest_due_age_seconds ')
    store.counts = () => Promise.reject(new PunctualError('store.unreachable', 'away'))
    await scene.clock.advance('6s')
    const text = await scene.scrape()
    expect(text).not.toContain('\nscheduler_oldest_due_age_seconds ')
    expect(sample(text, 'scheduler_store_errors_total{verb="counts",code="store.unreachable"}')).toBeGreaterThan(0)
    expect(endedOf(text, 'completed')).toBe(2)
  })
})

describe('access to /metrics', () => {
  const request = (headers: Record<string, string> = {}) => new Request('http://punctual.example/metrics', { headers })

  test('needs an identity without bounds of tenants, unless metrics are open', async () => {
    await using punctual = createPunctual({ store: memory(), log: silent })
    const authenticate = (asked: Request) => {
      const name = asked.headers.get('x-user')
      return name ? { name, role: 'viewer' as const, ...(name === 'acme' && { tenants: ['acme'] }) } : null
    }
    const guarded = createHandler(punctual, { log: silent, authenticate })
    expect((await guarded(request())).status).toBe(401)
    expect((await guarded(request({ 'x-user': 'acme' }))).status).toBe(403)
    expect((await guarded(request({ 'x-user': 'ops' }))).status).toBe(200)
    const open = createHandler(punctual, { log: silent, authenticate, metrics: 'open' })
    expect((await open(request())).status).toBe(200)
  })

  test('an unknown value of metrics is refused', async () => {
    await using punctual = createPunctual({ store: memory(), log: silent })
    expect(() => createHandler(punctual, { metrics: 'public' as 'open' })).toThrow(/metrics/)
  })
})

describe('docs and ops', () => {
  test('docs/reference/metrics.md lists every metric with its type, labels and help', () => {
    const rows = readFileSync('docs/reference/metrics.md', 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| `scheduler_'))
    const expected = Object.entries(metrics).map(([name, { kind, labels, help }]) => {
      const listed = labels.length === 0 ? '–' : labels.map((label) => `\`${label}\``).join(', ')
      return `| \`${name}\` | ${kind} | ${listed} | ${help} |`
    })
    expect(rows).toEqual(expected)
  })

  test('the alert rules fire when they should, and only then', () => {
    const tested = spawnSync(programsOf(promtool), ['test', 'rules', 'test/ops/punctual.rules.test.yml'], { encoding: 'utf8' })
    expect(tested.stdout + tested.stderr).toContain('SUCCESS')
    expect(tested.status).toBe(0)
  })

  test.each(['ops/punctual.rules.yml', 'ops/grafana.json'])('%s names only metrics that exist', (file) => {
    const named = readFileSync(file, 'utf8').matchAll(/\bscheduler_\w+?(?=_bucket\b|_sum\b|_count\b|\b)/g)
    const unknown = [...named].map(([name]) => name).filter((name) => !(name in metrics))
    expect(unknown).toEqual([])
  })
})

function newScene(options: Partial<Parameters<typeof createPunctual>[0]> & { clock?: ReturnType<typeof manualClock> } = {}) {
  const clock = options.clock ?? manualClock()
  const jobs = [good, bad, slow]
  const punctual = createPunctual({ store: memory(), jobs, log: silent, ...options, clock })
  const handler = createHandler(punctual, { open: true, log: silent })
  return {
    clock,
    punctual,
    work: () => someWork(punctual, clock),
    scrape: async () => (await handler(new Request('http://localhost/metrics'))).text(),
    [Symbol.asyncDispose]: () => punctual.close(),
  }
}

/** Two runs complete, two die, one is canceled before it runs and one waits for tomorrow. */
async function someWork(punctual: Punctual, clock: ReturnType<typeof manualClock>): Promise<void> {
  await punctual.enqueue(good)
  await punctual.enqueue(good)
  for (let at = 0; at < 2; at++) await punctual.once('webhook', 'a', () => 'paid')
  await punctual.enqueue(bad)
  const slowRun = await punctual.enqueue(slow)
  await punctual.enqueue(good, undefined, { delay: '1d' })
  await punctual.cancel((await punctual.enqueue(good, undefined, { delay: '1d' })).id)
  await punctual.start()
  for (let state = ''; state !== 'dead'; state = (await punctual.get(slowRun.id))?.state ?? '') await clock.advance('1s')
  await punctual.idle()
  await punctual.pause('good')
}

function sample(text: string, series: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return line === undefined ? Number.NaN : Number(line.slice(series.length + 1))
}

function endedOf(text: string, status: string): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith('scheduler_job_occurrences_total{') && line.includes(`status="${status}"`))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}
