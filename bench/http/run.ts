/**
 * The HTTP interface on a large store, in parts: `npm run http [fill] [sqlite] [postgres] [enqueue] [listeners]`, all without a name.
 * Parts can be measured one by one: results are kept in `results/http.json`, and the page shows the newest of each.
 * `--occurrences` and `--jobs` set how much the stores are filled with; `--file` and `--postgres` name a file and a database that are filled
 * when they are empty and used again when they are not. `fill` only fills them.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { postgres } from '../../src/store/postgres/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import { onDatabase } from '../postgres/database.ts'
import { describeServer, startServer } from '../postgres/server.ts'
import { timeEnqueues } from './enqueue.ts'
import { fillPostgres } from './fill-postgres.ts'
import { fillSqlite } from './fill-sqlite.ts'
import { timeListeners } from './listeners.ts'
import { timeLists } from './lists.ts'
import type { Amount } from './past.ts'
import { keep, type ListResult, writePage } from './results.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...{ occurrences: { type: 'string', default: '10000000' }, jobs: { type: 'string', default: '100000' } },
    ...{ requests: { type: 'string', default: '100' }, file: { type: 'string' }, postgres: { type: 'string' } },
  },
})
const parts = ['sqlite', 'postgres', 'enqueue', 'listeners']
const chosen = positionals.length === 0 ? parts : positionals
const unknown = chosen.find((part) => part !== 'fill' && !parts.includes(part))
if (unknown) throw new Error(`There is no part ${unknown}; parts are fill, ${parts.join(', ')}`)
const amount: Amount = { occurrences: Number(values.occurrences), jobs: Number(values.jobs) }
const requests = Number(values.requests)

if (chosen.includes('fill')) await fill()
if (chosen.includes('sqlite')) keep('sqlite', await sqliteLists())
if (chosen.includes('postgres')) keep('postgres', await postgresLists())
if (chosen.includes('enqueue')) keep('enqueue', await timeEnqueues())
if (chosen.includes('listeners')) keep('listeners', await timeListeners())
writePage()

async function fill(): Promise<void> {
  const { file, postgres: url } = values
  if (file !== undefined && !existsSync(file)) await fillSqlite(file, amount)
  if (url !== undefined && !(await isFilled(url))) await fillPostgres(url, amount)
}

async function sqliteLists(): Promise<ListResult> {
  const folder = values.file ? null : mkdtempSync(join(tmpdir(), 'punctual-http-'))
  const file = values.file ?? join(folder as string, 'large.db')
  if (!existsSync(file)) await fillSqlite(file, amount)
  const times = await timeLists(sqlite(file), amount, requests)
  if (folder) rmSync(folder, { recursive: true, force: true })
  return { ...amount, requests, engine: `SQLite ${process.versions.sqlite}`, times }
}

async function postgresLists(): Promise<ListResult> {
  const server = values.postgres ? null : await startServer()
  const url = values.postgres ?? (server?.url as string)
  if (!(await isFilled(url))) await fillPostgres(url, amount)
  const engine = server ? describeServer(server) : await engineOf(url)
  const times = await timeLists(postgres(url), amount, requests)
  await server?.[Symbol.asyncDispose]()
  return { ...amount, requests, engine, times }
}

function isFilled(url: string): Promise<boolean> {
  return onDatabase(url, async (client) => {
    const { rows } = await client.query("SELECT to_regclass('punctual.occurrence') AS name")
    return rows[0]?.name !== null
  })
}

function engineOf(url: string): Promise<string> {
  return onDatabase(url, async (client) => {
    const { rows } = await client.query(
      "SELECT current_setting('server_version') AS version, current_setting('shared_buffers') AS buffers",
    )
    return `PostgreSQL ${rows[0].version.split(' ')[0]} (shared_buffers ${rows[0].buffers})`
  })
}
