import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Broker } from '../../src/broker/broker.ts'
import { nats } from '../../src/broker/nats/index.ts'
import { verifySignature } from '../../src/outbound/signature.ts'
import { databasePath } from '../support/database-path.ts'
import { type NatsServer, startNats } from '../support/servers/nats.ts'
import { isLeftOut, nats as needed } from '../support/servers/needed.ts'
import { PunctualProcess, punctual } from './punctual-process.ts'

const jobs = 'test/cli/serve-jobs.process.ts'

interface Message {
  readonly type: string | undefined
  readonly text: string
}

/** The next message of a topic. */
async function nextOf(broker: Broker, name: string): Promise<() => Promise<Message>> {
  let next = Promise.withResolvers<Message>()
  await broker.consume({ channel: { name, kind: 'topic' }, group: 'test', maxInFlight: 1 }, async (delivery) => {
    next.resolve({ type: delivery.headers['content-type'], text: new TextDecoder().decode(delivery.body) })
    await delivery.ack()
  })
  return async () => {
    const message = await next.promise
    next = Promise.withResolvers()
    return message
  }
}

function connected({ url }: NatsServer): Broker {
  const broker = nats(url)
  onTestFinished(() => broker.close())
  return broker
}

describe('punctual serve without a broker', () => {
  it('calls webhooks, and keeps their secret out of the settings it shows', async () => {
    const received = Promise.withResolvers<{ readonly header: string; readonly body: string }>()
    const receiver = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      response.end()
      received.resolve({ header: String(request.headers['punctual-signature']), body })
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void receiver.close())
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
    const secret = 'a secret of sixteen'
    const env = { PUNCTUAL_STORE: `sqlite:${databasePath()}`, PUNCTUAL_WEBHOOK_SECRET: secret }
    const flags = ['--jobs', jobs, '--port', '0', '--webhook-networks', 'all']
    await using serve = new PunctualProcess(['serve', ...flags], { env })
    await serve.see(/runs at/)
    await punctual(['enqueue', 'punctual/http', JSON.stringify({ url, body: { id: 42 } })], { env })
    const { header, body } = await received.promise
    expect([body, verifySignature({ secret, header, body })]).toEqual(['{"id":42}', true])
    expect((await punctual(['config', 'print'], { env })).stdout).not.toContain(secret)
    serve.signal('SIGTERM')
    expect((await serve.finish()).code).toBe(0)
  })

  it('refuses to run nothing at all', async () => {
    const { code, stderr } = await punctual(['serve', '--store', 'memory:'])
    expect([code, stderr]).toEqual([2, expect.stringMatching(/'--jobs <file>' not specified, nor '--broker <url>'/)])
  })

  it('refuses commands without a broker to take them from', async () => {
    const { code, stderr } = await punctual(['serve', '--jobs', jobs, '--store', 'memory:', '--commands', 'work'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('it needs --broker too')])
  })
})

describe.skipIf(isLeftOut(needed))('punctual serve with a broker', () => {
  it('publishes what jobs without code ask for, and the events of jobs with publish', async () => {
    await using server = await startNats()
    const broker = connected(server)
    const order = await nextOf(broker, 'orders')
    const invoice = await nextOf(broker, 'invoices')
    const store = `sqlite:${databasePath()}`
    const env = { PUNCTUAL_STORE: store, PUNCTUAL_BROKER: server.url }
    await using serve = new PunctualProcess(['serve', '--jobs', jobs, '--port', '0'], { env })
    const [, url = ''] = await serve.see(/runs at (http:\S+)[\s\S]*broker nats:\/\/127/)
    await punctual(['enqueue', 'punctual/publish', '{"channel":"orders","body":{"id":42}}'], { env })
    expect(await order()).toEqual({ type: 'application/json', text: '{"id":42}' })
    await punctual(['enqueue', 'billed'], { env })
    expect(JSON.parse((await invoice()).text)).toMatchObject({ type: 'occurrence.completed', job: 'billed' })
    const job = ['--schedule', 'PT1S', '--name', 'beat', '--payload', '{"channel":"orders","body":"tick"}']
    await punctual(['jobs', 'create', 'punctual/publish', '--server', url, ...job])
    expect(await order()).toEqual({ type: 'text/plain', text: 'tick' })
    serve.signal('SIGTERM')
    expect((await serve.finish()).code).toBe(0)
  })

  it('needs no jobs file to publish what jobs without code ask for', async () => {
    await using server = await startNats()
    const order = await nextOf(connected(server), 'orders')
    const env = { PUNCTUAL_STORE: `sqlite:${databasePath()}` }
    await using serve = new PunctualProcess(['serve', '--port', '0', '--broker', server.url], { env })
    await serve.see(/jobs {3}none but the built-in ones/)
    await punctual(['enqueue', 'punctual/publish', '{"channel":"orders","body":{"id":42}}'], { env })
    expect((await order()).text).toBe('{"id":42}')
    serve.signal('SIGTERM')
    expect((await serve.finish()).code).toBe(0)
  })

  it('runs its jobs while the broker is away, and sends what waited when it is back', async () => {
    await using server = await startNats()
    const store = `sqlite:${databasePath()}`
    const env = { PUNCTUAL_STORE: store }
    await server.kill()
    await using serve = new PunctualProcess(['serve', '--jobs', jobs, '--port', '0', '--broker', server.url], { env })
    await serve.see(/The broker takes no messages/)
    await punctual(['enqueue', 'billed'], { env })
    await serve.see(/"completed","job":"billed"/)
    await server.start()
    const invoice = await nextOf(connected(server), 'invoices')
    expect(JSON.parse((await invoice()).text)).toMatchObject({ type: 'occurrence.completed', job: 'billed' })
    const { stdout } = await punctual(['dead', 'list', '--store', store])
    expect(stdout).not.toContain('punctual/publish')
    serve.signal('SIGTERM')
    expect((await serve.finish()).code).toBe(0)
  })

  it('takes commands for jobs from a queue', async () => {
    await using server = await startNats()
    const broker = connected(server)
    const invoice = await nextOf(broker, 'invoices')
    const env = { PUNCTUAL_STORE: `sqlite:${databasePath()}`, PUNCTUAL_BROKER: server.url, PUNCTUAL_COMMANDS: 'work' }
    await using serve = new PunctualProcess(['serve', '--jobs', jobs, '--port', '0'], { env })
    await serve.see(/broker nats:\S+, commands from work/)
    const command = (body: object) =>
      broker.publish([{ channel: { name: 'work', kind: 'queue' }, id: 'one', headers: {}, body: JSON.stringify(body) }])
    await command({ type: 'EnqueueJob', job: 'billed', key: 'order-1' })
    expect(JSON.parse((await invoice()).text)).toMatchObject({ type: 'occurrence.completed', job: 'billed', key: 'order-1' })
    serve.signal('SIGTERM')
    expect((await serve.finish()).code).toBe(0)
  })

  it('ends with a clear message for a URL of no broker, without its password', async () => {
    const { code, stderr } = await punctual(['serve', '--jobs', jobs, '--store', 'memory:', '--broker', 'kafka://me:secret@host'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('A broker is named by nats://host:4222')])
    expect(stderr).not.toContain('secret')
  })
})
