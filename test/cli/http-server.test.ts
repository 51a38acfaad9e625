import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createPunctual } from 'punctual'
import { createHandler } from 'punctual/http'
import { memory } from 'punctual/memory'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HttpServer, listen } from '../../src/cli/http-server.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const punctual = createPunctual({ store: memory(), log: silent })
let server: HttpServer
beforeAll(async () => {
  const handler = createHandler(punctual, { open: true, log: silent })
  server = await listen(handler, { host: '127.0.0.1', port: 0, patienceMs: 1000 })
})
afterAll(async () => {
  await server.close()
  await punctual.close()
})

/** Sends text over a separate connection; resolves with the whole answer when the server has closed it. */
async function send(...texts: readonly string[]): Promise<string> {
  const socket = await open()
  let answer = ''
  socket.on('data', (text) => {
    answer += text
  })
  for (const text of texts) socket.write(text)
  if (!socket.closed) await once(socket, 'close')
  return answer
}

async function open(): Promise<Socket> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1').setEncoding('utf8')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

const get = 'GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n'
const post = 'POST /api/v1/jobs/x/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'

describe('S34: the server of the command', () => {
  test('serves others while 500 connections send their headers slowly, and closes those', async () => {
    const slow = await Promise.all(Array.from({ length: 500 }, open))
    const closed = slow.map((socket) => once(socket, 'close'))
    for (const socket of slow) socket.resume().write(`${get}X-Slow:`)
    const statuses = await Promise.all(
      Array.from({ length: 50 }, () => fetch(new URL('/api/v1/jobs', server.url)).then(({ status }) => status)),
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
    await Promise.all(closed)
  })

  test('closes a connection whose body does not come', async () => {
    expect(await send(`${post}Content-Length: 100\r\n\r\n{`)).toMatch(/^HTTP\/1.1 408|^$/)
  })

  test('refuses headers of more than 16 KiB', async () => {
    expect(await send(`${get}X-Bomb: ${'a'.repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1.1 431/)
    const many = Array.from({ length: 3000 }, (_, at) => `X-${at}: a\r\n`).join('')
    expect(await send(`${get}${many}\r\n`)).toMatch(/^HTTP\/1.1 431/)
  })

  test.each([
    ['two lengths', `${post}Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}`],
    ['a length and chunks', `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${get}\r\n`],
    ['an encoding that hides the chunks', `${post}Transfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n`],
    ['a blank before the colon', `${post}Content-Length : 2\r\n\r\n{}`],
    ['a folded header', `${get}X-A: b\r\n c\r\n\r\n`],
    ['lines that end with LF alone', get.replaceAll('\r\n', '\n').concat('\n')],
    ['a length with a sign', `${post}Content-Length: +2\r\n\r\n{}`],
    ['a NUL in a header', `${get}X-A: \0\r\n\r\n`],
    ['chunk extensions with line feeds', `${post}Transfer-Encoding: chunked\r\n\r\n2;\n\r\n{}\r\n0\r\n\r\n`],
  ])('answers %s with 400 and closes the line, so nothing is smuggled', async (_, text) => {
    const answer = await send(text)
    expect(answer).toMatch(/^HTTP\/1.1 400/)
    expect(answer.match(/^HTTP\/1.1/gm)).toHaveLength(1)
  })
})
