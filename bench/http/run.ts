/**
 * The HTTP interface on a large store: lists and filters, submissions, listeners. `npm run http [lists] [enqueue] [listeners]`.
 * `--occurrences` and `--jobs` set how much the stores are filled with; `--file` and `--postgres` name a file and a database that are filled
 * when they are empty and used again when they are not.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { postgres } from '../../src/store/postgres/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import { Page } from '../harness/page.ts'
import { onDatabase } from '../postgres/database.ts'
import { describeServer, startServer } from '../postgres/server.ts'
import { timeEnqueues } from './enqueue.ts'
import { fillPostgres } from './fill-postgres.ts'
import { fillSqlite } from './fill-sqlite.ts'
import { timeListeners } from './listeners.ts'
import { type ListTime, timeLists } from './lists.ts'
import type { Amount } from './past.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...{ occurrences: { type: 'string', default: '10000000' }, jobs: { type: 'string', default: '100000' } },
    ...{ requests: { type: 'string', default: '100' }, file: { type: 'string' }, postgres: { type: 'string' } },
  },
})
const parts = ['lists', 'enqueue', 'listeners']
const chosen = positionals.length === 0 ? parts : positionals
const amount: Amount = { occurrences: Number(values.occurrences), jobs: Number(values.jobs) }
const requests = Number(values.requests)
const page = new Page('The HTTP interface')
let engine = `SQLite ${process.versions.sqlite}`

if (chosen.includes('lists')) listTable(await sqliteLists(), await postgresLists())
if (chosen.includes('enqueue')) await enqueueTable()
if (chosen.includes('listeners')) await listenerTable()

// A part of the page, or one of less, is for looking at: only the whole is kept.
if (chosen.length === parts.length && amount.occurrences >= 10_000_000)
  page.write('http', {
    engine,
    packages: [],
    notes: [
      `Made by \`npm run http\` in \`bench/\`. Lists: ${amount.occurrences.toLocaleString('en')} ended occurrences of 30 days, ${amount.jobs.toLocaleString('en')} jobs, 41 tenants; half of the runs are of 100 jobs. ${requests} requests one after the other with different values, three rounds, of which the quietest counts; from the request to the last byte, in the process of the server.`,
      'CPU is the time of the server process, without PostgreSQL. The machine has other work to do: where it is much, CPU tells more than the clock.',
    ],
  })

async function sqliteLists(): Promise<readonly ListTime[]> {
  const folder = values.file ? null : mkdtempSync(join(tmpdir(), 'punctual-http-'))
  const file = values.file ?? join(folder as string, 'large.db')
  if (!existsSync(file)) await fillSqlite(file, amount)
  const times = await timeLists(sqlite(file), amount, requests)
  if (folder) rmSync(folder, { recursive: true, force: true })
  return times
}

async function postgresLists(): Promise<readonly ListTime[]> {
  const server = values.postgres ? null : await startServer()
  const url = values.postgres ?? (server?.url as string)
  if (server) engine = `${engine}, ${describeServer(server)}`
  const isFilled = await onDatabase(url, async (client) => {
    const { rows } = await client.query("SELECT to_regclass('punctual.occurrence') AS name")
    return rows[0]?.name !== null
  })
  if (!isFilled) await fillPostgres(url, amount)
  const times = await timeLists(postgres(url), amount, requests)
  await server?.[Symbol.asyncDispose]()
  return times
}

function listTable(onSqlite: readonly ListTime[], onPostgres: readonly ListTime[]): void {
  const ms = (value: number) => value.toFixed(1)
  const rows = onSqlite.map((one, at) => {
    const other = onPostgres[at] as ListTime
    const isMet = one.p99 < 50 && other.p99 < 50
    return [
      one.name,
      ms(one.p50),
      ms(one.p99),
      ms(one.cpuP99),
      ms(other.p50),
      ms(other.p99),
      ms(other.cpuP99),
      page.goal('', isMet).trim(),
    ]
  })
  const columns = ['', 'SQLite p50 ms', 'p99 ms', 'CPU p99 ms', 'PostgreSQL p50 ms', 'p99 ms', 'CPU p99 ms', 'p99 < 50 ms']
  page.table('Lists and filters', columns, rows)
}

async function enqueueTable(): Promise<void> {
  const { perSecond, p50, p99, cpuMicros } = await timeEnqueues()
  const goal = page.goal('≥ 2,000/s', perSecond >= 2000)
  const row = [Math.round(perSecond).toLocaleString('en'), p50.toFixed(1), p99.toFixed(1), cpuMicros.toFixed(0), goal]
  page.table('Submissions from 50 callers, SQLite', ['a second', 'p50 ms', 'p99 ms', 'CPU µs of the server', 'goal'], [row])
}

async function listenerTable(): Promise<void> {
  const { claimMs, waitMs, cpuMs, received } = await timeListeners()
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
