// The requests of pages and scripts to a large store. A time goes from the request to the last byte of the body.
import { createHandler } from '../../src/http/index.ts'
import { createPunctual } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { systemClock } from '../../src/time/clock.ts'
import { percentile } from '../harness/statistics.ts'
import { report } from './model.ts'
import { type Amount, days, jobName, tenantOf } from './past.ts'

export interface ListTime {
  readonly name: string
  readonly p50: number
  readonly p99: number
  /** CPU time of this process, of all threads: on a machine that has other work to do, it tells more than the time on the clock. */
  readonly cpuP99: number
}

const hourMs = 3_600_000
const rounds = 3

/** Each is read with many values, since a page of the store that was read a moment ago is in memory. */
export async function timeLists(store: Store, amount: Amount, requests: number, wanted = /./): Promise<readonly ListTime[]> {
  // Listeners that ask within half a second of each other share an answer: here each request counts as a second after the last.
  let apart = 0
  const clock = { ...systemClock, mono: () => performance.now() + apart }
  const punctual = createPunctual({ store, jobs: [report], clock })
  await punctual.counts()
  const handle = createHandler(punctual, { open: true })
  const get = async (path: string) => {
    apart += 1000
    const response = await handle(new Request(`http://localhost/api/v1/${path}`))
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return JSON.parse(text) as { items: { id: string }[]; cursor: string | null }
  }
  const ids = (await get('occurrences?limit=500')).items.map(({ id }) => id)
  const times: ListTime[] = []
  for (const [name, pathOf] of Object.entries(questions(amount, ids)).filter(([one]) => wanted.test(one))) {
    const found: ListTime[] = []
    for (let round = 0; round < rounds; round++)
      found.push({ name, ...(await timed(requests, (n) => get(pathOf(n + round * requests)))) })
    times.push({ ...quietest(found, 'p99'), cpuP99: quietest(found, 'cpuP99').cpuP99 })
    const last = times.at(-1) as ListTime
    console.error(
      `${last.p99 > 50 ? 'MISS' : 'ok  '} ${name.padEnd(56)} p50 ${last.p50.toFixed(1)} ms, p99 ${last.p99.toFixed(1)} ms, CPU ${last.cpuP99.toFixed(1)} ms`,
    )
  }
  times.push({ name: 'occurrences, the pages after the first', ...(await timePages(requests, get)) })
  await punctual.close()
  return times
}

function quietest(of: readonly ListTime[], by: 'p99' | 'cpuP99'): ListTime {
  return of.reduce((best, one) => (one[by] < best[by] ? one : best))
}

async function timed(requests: number, ask: (n: number) => Promise<unknown>): Promise<Omit<ListTime, 'name'>> {
  const took: number[] = []
  const cpu: number[] = []
  for (let n = 0; n < requests; n++) {
    const [since, before] = [performance.now(), process.cpuUsage()]
    await ask(n)
    took.push(performance.now() - since)
    const { user, system } = process.cpuUsage(before)
    cpu.push((user + system) / 1000)
  }
  return { p50: percentile(took, 50), p99: percentile(took, 99), cpuP99: percentile(cpu, 99) }
}

async function timePages(requests: number, get: (path: string) => Promise<{ readonly cursor: string | null }>) {
  let cursor = ''
  return timed(requests, async () => {
    const page = await get(`occurrences?limit=500${cursor}`)
    cursor = page.cursor === null ? '' : `&cursor=${page.cursor}`
  })
}

type Questions = Readonly<Record<string, (n: number) => string>>

function questions({ jobs, occurrences }: Amount, ids: readonly string[]): Questions {
  const now = Date.now()
  const spread = (n: number, of: number) => (n * 104_729 + 17) % of
  const job = (n: number) => spread(n, jobs)
  const busy = (n: number) => n % 100
  const tenant = (n: number) => `tenant-${n % 40}`
  const entity = (n: number) => `entity=customer-${spread(n, 9973)}`
  const hour = (n: number) => span(now - (spread(n, days * 24 - 1) + 1) * hourMs, hourMs)
  const states = ['pending', 'waiting', 'running', 'retrying', 'dead', 'completed', 'failed', 'canceled', 'skipped', 'missed']
  const list = (query: string) => `occurrences?${query}`
  const plain: Questions = {
    all: () => list(''),
    tenant: (n) => list(`tenant=${tenant(n)}`),
    'default tenant': () => list('tenant=default'),
    job: (n) => list(`job=${jobName(job(n))}`),
    'busy job': (n) => list(`job=${jobName(busy(n))}`),
    'tenant and job': (n) => list(`tenant=${tenantOf(job(n))}&job=${jobName(job(n))}`),
    source: () => list('source=deferred'),
    'a source that none has': () => list('source=timer'),
    key: (n) => list(`key=order-${spread(n, occurrences)}`),
    'idempotency key that none has': (n) => list(`idempotencyKey=order-${n}`),
    entity: (n) => list(entity(n)),
    'entity and tenant': (n) => list(`${entity(n)}&tenant=${tenant(n)}`),
    'entity and busy job': (n) => list(`${entity(n)}&job=${jobName(busy(n))}`),
    'entity and state': (n) => list(`${entity(n)}&state=failed`),
    cause: (n) => list(`cause=cause-${n % 17}`),
    'cause and tenant': (n) => list(`cause=cause-${n % 17}&tenant=${tenant(n)}`),
    'an hour of the past': (n) => list(hour(n)),
    'an hour and tenant': (n) => list(`${hour(n)}&tenant=${tenant(n)}`),
    'an hour and busy job': (n) => list(`${hour(n)}&job=${jobName(busy(n))}`),
    'an hour and failed': (n) => list(`${hour(n)}&state=failed`),
    'a day and failed': (n) => list(`${span(now - (2 + (n % 25)) * 24 * hourMs, 24 * hourMs)}&state=failed`),
    'all days': () => list(span(now - days * 24 * hourMs, days * 24 * hourMs)),
  }
  const byState = states.map((state) => [`state ${state}`, () => list(`state=${state}`)])
  const byStateAndTenant = states.map((state) => [
    `state ${state} and tenant`,
    (n: number) => list(`state=${state}&tenant=${tenant(n)}`),
  ])
  const byStateAndJob = ['completed', 'failed', 'missed'].map((state) => [
    `state ${state} and busy job`,
    (n: number) => list(`state=${state}&job=${jobName(busy(n))}`),
  ])
  const lists = Object.entries({
    ...plain,
    ...Object.fromEntries(byState),
    ...Object.fromEntries(byStateAndTenant),
    ...Object.fromEntries(byStateAndJob),
    'state failed, dead and missed': () => list('state=failed,dead,missed'),
  }).map(([name, of]) => [`occurrences: ${name}`, of])
  return {
    ...Object.fromEntries(lists),
    'occurrences: counts': () => 'occurrences/counts',
    'occurrences: counts of a tenant': (n) => `occurrences/counts?tenant=${tenant(n)}`,
    'occurrences: counts of an entity': (n) => `occurrences/counts?${entity(n)}`,
    'occurrences: one': (n) => `occurrences/${ids[n % ids.length]}`,
    'occurrences: one by key': (n) => {
      const half = spread(n, occurrences / 2 - 1) + 1
      return `occurrence?job=${jobName(half % 100)}&tenant=${tenantOf(half % 100)}&key=order-${2 * half}`
    },
    jobs: () => 'jobs',
    'jobs: tenant': (n) => `jobs?tenant=${tenant(n)}`,
    'jobs: search': (n) => `jobs?search=${String(job(n)).padStart(6, '0')}`,
    'jobs: failing': () => 'jobs?mark=failing',
    'jobs: one': (n) => `jobs/${jobName(job(n))}?tenant=${tenantOf(job(n))}`,
    'jobs: versions': (n) => `jobs/${jobName(job(n))}/versions?tenant=${tenantOf(job(n))}`,
    'dead letters by cause': () => 'dead-letters',
    'dead letters of a tenant': (n) => `dead-letters?tenant=${tenant(n)}`,
    'explain a job': (n) => `explain?job=${jobName(job(n))}&tenant=${tenantOf(job(n))}`,
    operations: () => 'operations',
    ranges: () => 'ranges',
    audit: () => 'audit',
    'gate keys': () => 'gates',
    pauses: () => 'pauses',
    nodes: () => 'nodes',
    tenants: () => 'tenants',
    'figures of a day': () => `figures?${span(now - 24 * hourMs, 24 * hourMs)}`,
    overview: () => 'overview',
    'timeline of six hours': () => `timeline?${span(now - 3 * hourMs, 6 * hourMs)}`,
    'calendar of a week': () => `calendar?${span(now - 3.5 * 24 * hourMs, 7 * 24 * hourMs)}`,
  }
}

function span(from: number, lengthMs: number): string {
  return `from=${new Date(from).toISOString()}&to=${new Date(from + lengthMs).toISOString()}`
}
