import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { shownPostgresUrl, splitPostgresUrl } from '../../src/cli/postgres-url.ts'
import { newestSchema } from '../../src/store/postgres/schema/tables.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { queryOnce } from '../support/servers/query-once.ts'
import { PunctualProcess, punctual } from './punctual-process.ts'

const jobs = 'test/cli/serve-jobs.process.ts'

/** The URL of tables that do not exist yet. */
async function freshUrl(): Promise<{ store: string; schema: string; url: string; password: string }> {
  const url = await sharedPostgresUrl()
  const schema = freshSchemaName()
  const store = new URL(url)
  store.searchParams.set('schema', schema)
  return { store: store.href, schema, url, password: new URL(url).password }
}

async function tablesIn(url: string, schema: string): Promise<number> {
  const rows = await queryOnce(url, 'SELECT tablename FROM pg_tables WHERE schemaname = $1', [schema])
  return rows.length
}

describe('punctual on postgres://', () => {
  test('serve makes the tables, runs what another command enqueues, and shows no password', async () => {
    const { store, schema, url, password } = await freshUrl()
    await using server = new PunctualProcess(['serve', '--store', store, '--jobs', jobs, '--port', '0'])
    await server.see(/prepared by setup/)
    const env = { PUNCTUAL_STORE: store.replace('postgres:', 'postgresql:') }
    const enqueued = await punctual(['enqueue', 'echo', '{"text":"hello"}', '--key', 'k1', '--json'], { env })
    expect(enqueued).toMatchObject({ code: 0, stderr: '' })
    const { id } = JSON.parse(enqueued.stdout)
    await server.see(new RegExp(`"completed","job":"echo","key":"k1","id":"${id}"`))
    expect(JSON.parse((await punctual(['occurrences', id, '--json'], { env })).stdout)).toMatchObject({ result: 'hello' })
    expect(await tablesIn(url, schema)).toBeGreaterThan(20)
    server.signal('SIGTERM')
    const { code, stdout, stderr } = await server.finish()
    expect(code).toBe(0)
    expect(stdout).toContain(`?schema=${schema}`)
    expect(password.length).toBeGreaterThan(5)
    expect(stdout + stderr).not.toContain(password)
  })

  test('only serve and migrate make tables: others say what to do', async () => {
    const { store, schema, url } = await freshUrl()
    const { code, stdout, stderr } = await punctual(['jobs', '--store', store])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`Schema ${schema} has no tables of Punctual. Run punctual migrate`)
    expect(stderr).toContain('(store.outdated)')
    expect(await tablesIn(url, schema)).toBe(0)
  })

  test.each([
    ['a server that is not there', 'postgres://ada:hunter2@127.0.0.1:1/x', '(store.unreachable)'],
    ['a URL that is none', 'postgres://ada:hunter2@[/x', '(config.invalid)'],
    [
      'a flag that is none',
      'postgres://ada:hunter2@127.0.0.1:1/x?prepare=perhaps',
      'prepare must be true or false (config.invalid)',
    ],
    ['a schema that is no name', 'postgres://ada:hunter2@127.0.0.1:1/x?schema=a;b', 'schema must be'],
    ['a listening address that is none', 'postgres://ada@127.0.0.1:1/x?listenUrl=hunter2', 'listenUrl must be'],
  ])('%s is refused, and no secret is repeated', async (_, store, message) => {
    const { code, stdout, stderr } = await punctual(['jobs', '--store', store])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('hunter2')
  })

  test('a wrong password is told without repeating it', async () => {
    const { store } = await freshUrl()
    const url = new URL(store)
    url.password = 'hunter2'
    const { code, stderr } = await punctual(['jobs', '--store', url.href])
    expect(code).toBe(1)
    expect(stderr).toMatch(/PostgreSQL refuses: .*\(store\.refused\)/)
    expect(stderr).not.toContain('hunter2')
  })
})

describe('punctual migrate', () => {
  test('--dry-run prints what psql could run, and changes nothing', async () => {
    const { store, schema, url } = await freshUrl()
    const { code, stdout, stderr } = await punctual(['migrate', '--dry-run', '--store', store])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      new RegExp(`^-- schema ${schema}: 0 → ${newestSchema}\nBEGIN;\nCREATE SCHEMA IF NOT EXISTS "${schema}";`),
    )
    expect(stdout.trimEnd().endsWith('COMMIT;')).toBe(true)
    expect(await tablesIn(url, schema)).toBe(0)
    await queryOnce(url, stdout)
    expect((await punctual(['migrate', '--dry-run', '--store', store])).stdout).toBe(
      `-- schema ${schema}: ${newestSchema} → ${newestSchema}, nothing to do\n`,
    )
    expect((await punctual(['jobs', '--store', store])).code).toBe(0)
  })

  test('makes the tables once, and says from which schema to which', async () => {
    const { store, schema, url } = await freshUrl()
    expect(await punctual(['migrate', '--store', store])).toEqual({
      code: 0,
      stderr: '',
      stdout: `schema ${schema}: 0 → ${newestSchema}\n`,
    })
    expect(await tablesIn(url, schema)).toBeGreaterThan(20)
    expect((await punctual(['migrate', '--store', store])).stdout).toBe(`schema ${schema} is at ${newestSchema}: nothing to do\n`)
  })

  test('--json has the schema, both numbers and the statements', async () => {
    const { store, schema } = await freshUrl()
    const told = async (...flags: string[]) =>
      JSON.parse((await punctual(['migrate', '--json', ...flags, '--store', store])).stdout)
    const planned = await told('--dry-run')
    expect(planned).toMatchObject({ schema, from: 0, to: newestSchema, dryRun: true })
    expect(await told()).toEqual({ ...planned, dryRun: false })
    expect(await told()).toEqual({ schema, from: newestSchema, to: newestSchema, statements: [], dryRun: false })
  })

  test('says that a SQLite file needs none', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'punctual-cli-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const { code, stderr } = await punctual(['migrate', '--store', `sqlite:${join(folder, 'a.db')}`])
    expect(code).toBe(1)
    expect(stderr).toContain('a SQLite file is brought up by the first process that opens it')
  })
})

describe('a postgres:// URL', () => {
  test('carries options of the store, which the driver does not see', () => {
    const listenUrl = 'postgres://ada@db:5433/app'
    const url = `postgres://ada:p%40ss@db:6432/app?schema=jobs&sslmode=require&prepare=false&listenUrl=${encodeURIComponent(listenUrl)}`
    expect(splitPostgresUrl(url)).toEqual({
      url: 'postgres://ada:p%40ss@db:6432/app?sslmode=require',
      options: { schema: 'jobs', prepare: false, listenUrl },
    })
    expect(splitPostgresUrl('postgres://db/app?listenUrl=false&createTables=false')).toEqual({
      url: 'postgres://db/app',
      options: { listenUrl: false, createTables: false },
    })
  })

  test('may name a socket', () => {
    expect(splitPostgresUrl('postgres://ada@/app?host=/run/postgresql&schema=jobs')).toEqual({
      url: 'postgres://ada@/app?host=%2Frun%2Fpostgresql',
      options: { schema: 'jobs' },
    })
  })

  test.each([
    ['postgres://ada:hunter2@db:5432/app?schema=jobs&sslmode=require', 'postgres://ada@db:5432/app?schema=jobs'],
    ['postgresql:///app?password=hunter2&user=ada', 'postgresql:///app'],
    ['postgres://ada:hunter2@/app?host=/run', 'postgres://ada@/app'],
    ['postgres://ada@db/app?listenUrl=postgres%3A%2F%2Fada%3Ahunter2%40db%2Fapp', 'postgres://ada@db/app'],
  ])('%s is shown as %s', (url, shown) => {
    expect(shownPostgresUrl(url)).toBe(shown)
  })
})
