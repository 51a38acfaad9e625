// The results of each part, and the page that shows the newest of all.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Page } from '../harness/page.ts'
import type { EnqueueFigures } from './enqueue.ts'
import type { ListenerFigures } from './listeners.ts'
import type { ListTime } from './lists.ts'
import type { Amount } from './past.ts'

export interface ListResult extends Amount {
  readonly engine: string
  readonly requests: number
  readonly times: readonly ListTime[]
}

interface Results {
  readonly sqlite?: ListResult
  readonly postgres?: ListResult
  readonly enqueue?: EnqueueFigures
  readonly listeners?: ListenerFigures
}

const file = new URL('../results/http.json', import.meta.url)
const mostMs = 50

/** Figures of fewer rows are only printed. */
const leastOccurrences = 10_000_000

function known(): Results {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

export function keep<Part extends keyof Results>(part: Part, result: NonNullable<Results[Part]>): void {
  if ('occurrences' in result && result.occurrences < leastOccurrences) return
  const rounded = JSON.stringify({ ...known(), [part]: result }, (_, value) =>
    typeof value === 'number' ? Math.round(value * 100) / 100 : value,
  )
  writeFileSync(file, `${JSON.stringify(JSON.parse(rounded), null, 1)}\n`)
}

export function writePage(): void {
  const { sqlite, postgres, enqueue, listeners } = known()
  const page = new Page('The HTTP interface')
  if (sqlite || postgres) listTable(page, sqlite, postgres)
  if (enqueue) enqueueTable(page, enqueue)
  if (listeners) listenerTable(page, listeners)
  page.write('http', {
    engine: [sqlite?.engine, postgres?.engine].filter((engine) => engine !== undefined).join(', '),
    packages: [],
    notes: ['Made by `npm run http` in `bench/`, part by part. CPU is the time of the server process, without PostgreSQL.'],
  })
}

function listTable(page: Page, sqlite: ListResult | undefined, postgres: ListResult | undefined): void {
  const some = (sqlite ?? postgres) as ListResult
  const rows = some.times.map(({ name }) => {
    const both = [sqlite, postgres].map((of) => of?.times.find((time) => time.name === name))
    const isMet = both.every((time) => time === undefined || time.p99 < mostMs)
    return [name, ...both.flatMap(cells), page.goal('', isMet).trim()]
  })
  const columns = ['', 'SQLite p50 ms', 'p99 ms', 'CPU p99 ms', 'PostgreSQL p50 ms', 'p99 ms', 'CPU p99 ms', `p99 < ${mostMs} ms`]
  const requests = [...new Set([sqlite, postgres].flatMap((of) => of?.requests ?? []))].join(' and ')
  page.table(
    'Lists and filters',
    columns,
    rows,
    `${some.occurrences.toLocaleString('en')} ended occurrences of 30 days, ${some.jobs.toLocaleString('en')} jobs, 41 tenants; half of the runs are of 100 jobs. ${requests} requests one after the other with different values, three rounds, of which the quietest counts; from the request to the last byte, in the process of the server.`,
  )
}

function cells(time: ListTime | undefined): readonly string[] {
  return time ? [time.p50, time.p99, time.cpuP99].map((ms) => ms.toFixed(1)) : ['–', '–', '–']
}

function enqueueTable(page: Page, { perSecond, p50, p99, cpuMicros }: EnqueueFigures): void {
  const goal = page.goal('≥ 2,000/s', perSecond >= 2000)
  const row = [Math.round(perSecond).toLocaleString('en'), p50.toFixed(1), p99.toFixed(1), cpuMicros.toFixed(0), goal]
  page.table('Submissions from 50 callers, SQLite', ['a second', 'p50 ms', 'p99 ms', 'CPU µs of the server', 'goal'], [row])
}

function listenerTable(page: Page, { claimMs, waitMs, cpuMs, received }: ListenerFigures): void {
  const slower = (claimMs[1] / claimMs[0] - 1) * 100
  const goal = page.goal('claims slower by ≤ 5 %', slower <= 5)
  const row = (name: string, at: 0 | 1) => [name, claimMs[at].toFixed(2), waitMs[at].toFixed(1), cpuMs[at].toFixed(0)]
  page.table(
    '200 listeners at 500 changes a second, SQLite',
    ['', 'claim, median ms', 'due to start, median ms', 'CPU ms a second', ''],
    [
      [...row('no listener', 0), ''],
      [...row('200 listeners', 1), `${slower.toFixed(1)} %: ${goal}`],
    ],
    `Three rounds each, in turns; the listeners got ${received.toLocaleString('en')} messages.`,
  )
}
