import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { Client } from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { patiently } from '../support/patiently.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { queryOnce } from '../support/servers/query-once.ts'
import { TcpProxy } from '../support/servers/tcp-proxy.ts'

describe('a proxy before a server', () => {
  it('passes requests and replies, large ones too', async () => {
    const { proxy, client } = await proxied()
    const text = 'x'.repeat(5_000_000)
    expect((await client.query('SELECT $1::text AS text', [text])).rows).toEqual([{ text }])
    expect(proxy.connections).toBe(1)
  })

  it('ends all connections when it is cut, and takes new ones when it is healed', async () => {
    const { proxy, client } = await proxied()
    const ended = new Promise((resolve) => client.once('end', () => resolve('ended')))
    await proxy.cut()
    expect(await ended).toBe('ended')
    expect(proxy.connections).toBe(0)
    await expect(queryOnce(proxy.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED')
    await proxy.heal()
    expect(await queryOnce(proxy.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }])
  })

  it('leads new connections to another server when it is told to', async () => {
    const { proxy, client } = await proxied()
    const other = createServer((socket) => socket.end('elsewhere'))
    other.listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    proxy.leadTo({ url: `tcp://127.0.0.1:${(other.address() as AddressInfo).port}` })
    expect((await client.query('SELECT 1 AS n')).rows, 'who is connected stays').toEqual([{ n: 1 }])
    const { hostname, port } = new URL(proxy.url)
    const [said] = await once(connect({ host: hostname, port: Number(port) }), 'data')
    expect(String(said)).toBe('elsewhere')
  })

  it('passes nothing while it is stalled, and all of it when it is healed', async () => {
    const { proxy, client, table, url } = await proxied()
    proxy.stall()
    const answer = client.query(`INSERT INTO ${table} VALUES (1)`)
    // A new connection is accepted, but its statements never reach the server.
    const late = queryOnce(proxy.url, `INSERT INTO ${table} VALUES (2)`)
    expect(await queryOnce(url, `SELECT n FROM ${table}`)).toEqual([])
    await proxy.heal()
    await Promise.all([answer, late])
    expect(await queryOnce(url, `SELECT n FROM ${table} ORDER BY n`)).toEqual([{ n: 1 }, { n: 2 }])
  })

  it('lets the server do what the client then cannot know of', async () => {
    const { proxy, client, table, url } = await proxied()
    const lost = proxy.loseReplyTo('COMMIT')
    await client.query('BEGIN')
    await client.query(`INSERT INTO ${table} VALUES (1)`)
    await expect(client.query('COMMIT')).rejects.toThrow('Connection terminated')
    await lost
    expect(await queryOnce(url, `SELECT n FROM ${table}`)).toEqual([{ n: 1 }])
    // Only the next such request loses its reply.
    expect(await queryOnce(proxy.url, `SELECT 'COMMIT' AS text`)).toEqual([{ text: 'COMMIT' }])
  })

  it('drops replies until it is healed, and ends the connections that missed one', async () => {
    const { proxy, client, table, url } = await proxied()
    proxy.dropReplies()
    const answer = client.query(`INSERT INTO ${table} VALUES (1)`)
    const failure = expect(answer).rejects.toThrow('Connection terminated')
    const isLost = async () =>
      expect([await queryOnce(url, `SELECT n FROM ${table}`), proxy.hasDropped]).toEqual([[{ n: 1 }], true])
    await vi.waitFor(isLost, patiently)
    await proxy.heal()
    await failure
    expect(await queryOnce(proxy.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }])
  })

  it('cuts in the midst of a request, which the server then never has', async () => {
    const { proxy, client, table, url } = await proxied()
    const cut = proxy.cutAfterBytes(20)
    await expect(client.query(`INSERT INTO ${table} VALUES (1)`)).rejects.toThrow('Connection terminated')
    await cut
    await expect(queryOnce(proxy.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED')
    expect(await queryOnce(url, `SELECT n FROM ${table}`)).toEqual([])
  })
})

async function proxied() {
  const url = await sharedPostgresUrl()
  const schema = freshSchemaName()
  const table = `${schema}.numbers`
  await queryOnce(url, `CREATE SCHEMA ${schema}`)
  await queryOnce(url, `CREATE TABLE ${table} (n int)`)
  const proxy = await TcpProxy.start({ url })
  const client = new Client({ connectionString: proxy.url })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(async () => {
    await proxy.close()
    await client.end()
  })
  return { url, table, proxy, client }
}
