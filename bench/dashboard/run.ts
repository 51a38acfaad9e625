/**
 * The dashboard on a large store, in a browser: for each page its slowest read of data, and the longest task while it is scrolled and typed
 * into. `npm run dashboard [sqlite] [postgres]`, both without a name; the page keeps the table of the other. `--occurrences` and `--jobs`
 * set how much the stores are filled with; `--file` and `--postgres` name a file and a database that are filled when they are empty and used
 * again when they are not.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { postgres } from '../../src/store/postgres/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import { startBrowser } from '../../test/support/browser.ts'
import { Page } from '../harness/page.ts'
import { fillPostgres } from '../http/fill-postgres.ts'
import { fillSqlite } from '../http/fill-sqlite.ts'
import { type Amount, days } from '../http/past.ts'
import { onDatabase } from '../postgres/database.ts'
import { describeServer, startServer } from '../postgres/server.ts'
import { measure, type PageTime, reportedMs } from './measure.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...{ occurrences: { type: 'string', default: '1000000' }, jobs: { type: 'string', default: '10000' } },
    ...{ file: { type: 'string' }, postgres: { type: 'string' } },
  },
})
const amount: Amount = { occurrences: Number(values.occurrences), jobs: Number(values.jobs) }
const stores = positionals.length === 0 ? ['sqlite', 'postgres'] : positionals
const mostDataMs = 1000
const mostTaskMs = 100
const page = new Page('The dashboard', { rounds: 1, continues: 'dashboard' })
let engine = `SQLite ${process.versions.sqlite}`

const browser = await startBrowser()
if (stores.includes('sqlite')) table('SQLite', await onSqlite())
if (stores.includes('postgres')) table('PostgreSQL', await onPostgres())
const version = browser.version()
await browser.close()
if (amount.occurrences >= 1_000_000)
  page.write('dashboard', {
    engine,
    packages: [],
    notes: [
      `Made by \`npm run dashboard\` in \`bench/\`, in Chromium ${version}, 1440 × 900: ${amount.occurrences.toLocaleString('en')} ended occurrences of ${days} days and ${amount.jobs.toLocaleString('en')} jobs. Server, store and browser share the machine.`,
      `Data: the slowest read of the page, from the browser's request to the last byte. Longest task: while the page is scrolled to its end and back and typed into, with the command palette; browsers report tasks of ${reportedMs} ms or more.`,
    ],
  })

async function onSqlite(): Promise<readonly PageTime[]> {
  const folder = values.file ? null : mkdtempSync(join(tmpdir(), 'punctual-dashboard-'))
  const file = values.file ?? join(folder as string, 'large.db')
  if (!existsSync(file)) await fillSqlite(file, amount)
  const times = await measure(sqlite(file), browser)
  if (folder) rmSync(folder, { recursive: true, force: true })
  return times
}

async function onPostgres(): Promise<readonly PageTime[]> {
  const server = values.postgres ? null : await startServer()
  const url = values.postgres ?? (server?.url as string)
  if (server) engine = `${engine}, ${describeServer(server)}`
  const isFilled = await onDatabase(url, async (client) => {
    const { rows } = await client.query("SELECT to_regclass('punctual.occurrence') AS name")
    return rows[0]?.name !== null
  })
  if (!isFilled) await fillPostgres(url, amount)
  const times = await measure(postgres(url), browser)
  await server?.[Symbol.asyncDispose]()
  return times
}

function table(store: string, times: readonly PageTime[]): void {
  const goal = `data < ${mostDataMs / 1000} s, tasks < ${mostTaskMs} ms`
  const rows = times.map(({ path, slowest, dataMs, taskMs }) => [
    ...[`\`${path}\``, `\`${slowest}\``, String(dataMs), taskMs === null ? `under ${reportedMs}` : String(taskMs)],
    page.goal('', dataMs < mostDataMs && (taskMs ?? 0) < mostTaskMs).trim(),
  ])
  page.table(store, ['page', 'slowest read', 'data ms', 'longest task ms', goal], rows)
}
