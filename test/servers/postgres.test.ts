import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { patiently } from '../support/patiently.ts'
import { isLeftOut, postgres as needed } from '../support/servers/needed.ts'
import { fastSettings, type Postgres, type PostgresOptions, startPostgres, startStandby } from '../support/servers/postgres.ts'
import { childrenOf, isStopped } from '../support/servers/process-tree.ts'

describe.skipIf(isLeftOut(needed))('a PostgreSQL of a test', () => {
  it('runs as a user other than root, with the settings it was given, and is gone when removed', async () => {
    const postgres = await start({ settings: { ...fastSettings, max_connections: 42 } })
    expect(statSync(join(postgres.folder, 'data', 'postmaster.pid')).uid).not.toBe(0)
    expect(await postgres.query('SHOW max_connections')).toEqual([{ max_connections: '42' }])
    expect(await postgres.query('SHOW fsync')).toEqual([{ fsync: 'off' }])
    expect(postgres.version).toMatch(/^\d+\.\d+/)
    await postgres.remove()
    expect(postgres.pid).toBe(null)
    expect(existsSync(postgres.folder)).toBe(false)
    await expect(postgres.query('SELECT 1')).rejects.toThrow('ECONNREFUSED')
  })

  it('has the durability of PostgreSQL itself unless told otherwise', async () => {
    const postgres = await start()
    const names = ['fsync', 'synchronous_commit', 'full_page_writes']
    const rows = await postgres.query('SELECT name, setting FROM pg_settings WHERE name = ANY($1) ORDER BY name', [names])
    expect(rows).toEqual(names.sort().map((name) => ({ name, setting: 'on' })))
  })

  it('lets nobody in without the password', async () => {
    const postgres = await start()
    const client = new Client({ connectionString: postgres.url.replace(postgres.template.password, 'guess') })
    await expect(client.connect()).rejects.toThrow('password authentication failed')
  })

  it('names what is wrong when it cannot start', async () => {
    await expect(startPostgres({ settings: { no_such_setting: 1 } })).rejects.toThrow('no_such_setting')
  })

  it('keeps what was committed when it is killed, and starts again in the same place', async () => {
    const postgres = await start()
    const { url, pid } = postgres
    await postgres.query('CREATE TABLE kept AS SELECT 1 AS n')
    await postgres.kill()
    await expect(postgres.query('SELECT 1')).rejects.toThrow('ECONNREFUSED')
    await postgres.restart({ work_mem: '7MB' })
    expect(postgres.url).toBe(url)
    expect(postgres.pid).not.toBe(pid)
    const rows = await postgres.query(`SELECT n, current_setting('work_mem') AS work_mem FROM kept`)
    expect(rows).toEqual([{ n: 1, work_mem: '7MB' }])
  })

  it('sends its clients away when it stops', async () => {
    const postgres = await start()
    const client = await connect(postgres)
    const gone = new Promise((resolve) => client.once('error', resolve))
    await postgres.stop()
    await expect(gone).resolves.toMatchObject({ message: expect.stringMatching(/terminat/) })
  })

  it('answers nothing while it is frozen, and what it was asked once it is thawed', async () => {
    const postgres = await start()
    const client = await connect(postgres)
    await postgres.freeze()
    const pid = postgres.pid as number
    expect([pid, ...childrenOf(pid)].filter((one) => !isStopped(one))).toEqual([])
    const answer = client.query('SELECT 1 AS n')
    await postgres.thaw()
    expect((await answer).rows).toEqual([{ n: 1 }])
  })
})

describe.skipIf(isLeftOut(needed))('a standby of a test', () => {
  it('follows its primary and takes no writes', async () => {
    const primary = await start()
    await primary.query('CREATE TABLE news (n int)')
    const standby = await start({ primary })
    await primary.query('INSERT INTO news VALUES (1)')
    await vi.waitFor(async () => expect(await standby.query('SELECT n FROM news')).toEqual([{ n: 1 }]), patiently)
    await expect(standby.query('INSERT INTO news VALUES (2)')).rejects.toThrow('read-only transaction')
  })

  it('takes writes when it is promoted after the primary was killed, which then is gone', async () => {
    const primary = await start()
    const standby = await start({ primary })
    await primary.query('CREATE TABLE news (n int)')
    await primary.restart({ synchronous_standby_names: '*' })
    await primary.query('INSERT INTO news VALUES (1)')
    await primary.kill()
    await standby.promote()
    await standby.query('INSERT INTO news VALUES (2)')
    expect(await standby.query('SELECT n FROM news ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }])
    await expect(primary.query('SELECT 1')).rejects.toThrow('ECONNREFUSED')
  })
})

async function start({ primary, ...options }: PostgresOptions & { readonly primary?: Postgres } = {}): Promise<Postgres> {
  const postgres = primary ? await startStandby(primary, options) : await startPostgres(options)
  onTestFinished(() => postgres.remove())
  return postgres
}

async function connect(postgres: Postgres): Promise<Client> {
  const client = new Client({ connectionString: postgres.url })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  return client
}
