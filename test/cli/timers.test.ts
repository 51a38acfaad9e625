import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Broker, Channel, Delivery } from '../../src/broker/broker.ts'
import { nats } from '../../src/broker/nats/index.ts'
import { timerSettings } from '../../src/cli/timer-settings.ts'
import { databasePath } from '../support/database-path.ts'
import { patiently } from '../support/patiently.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { startNats } from '../support/servers/nats.ts'
import { isLeftOut, nats as needed } from '../support/servers/needed.ts'
import { PunctualProcess, punctual } from './punctual-process.ts'

const commands: Channel = { name: 'timers.commands', kind: 'queue' }
const events: Channel = { name: 'timers.events', kind: 'topic' }

function service(...args: string[]): PunctualProcess {
  const started = new PunctualProcess(['timers', ...args])
  onTestFinished(() => started[Symbol.asyncDispose]())
  return started
}

async function schedule(broker: Broker, ids: readonly string[], channel: Channel = commands): Promise<void> {
  const dueAt = new Date().toISOString()
  const message = (serviceCallId: string) => ({
    channel,
    id: serviceCallId,
    body: JSON.stringify({ type: 'ScheduleTimer', tenantId: 'acme', serviceCallId, dueAt }),
  })
  const results = await broker.publish(ids.map(message))
  expect(results.every(({ ok }) => ok)).toBe(true)
}

/** Collects events, and resolves `seen` when all of the given ids have come. */
async function collect(broker: Broker) {
  const ids: string[] = []
  const watchers = new Set<() => void>()
  await broker.consume({ channel: events, group: 'test', maxInFlight: 100 }, async (delivery) => {
    ids.push(JSON.parse(new TextDecoder().decode(delivery.body)).payload.serviceCallId)
    await delivery.ack()
    for (const watcher of watchers) watcher()
  })
  const seen = (wanted: readonly string[]) =>
    new Promise<void>((resolve) => {
      const look = () => wanted.every((id) => ids.includes(id)) && resolve()
      watchers.add(look)
      look()
    })
  return { ids, seen }
}

async function firedOf(url: string): Promise<number> {
  const text = await (await fetch(new URL('/metrics', url))).text()
  return Number(/^timer_fired_total (\d+)$/m.exec(text)?.[1])
}

describe('TS-8 the settings of punctual timers', () => {
  const env = {
    TIMER_DB_PATH: '/data/t.db',
    TIMER_BROKER_URL: 'nats://timer:4222',
    TIMER_POLLING_INTERVAL: '5000',
    TIMER_BATCH_SIZE: '100',
  }

  it('come from flags and PUNCTUAL_*, then from TIMER_*, then from the defaults', () => {
    const given = { store: 'sqlite:./a.db', broker: 'local:', poll: '1s', claimLimit: 7 }
    expect(timerSettings(given, env)).toEqual({ store: 'sqlite:./a.db', brokerUrl: 'local:', poll: '1s', claimLimit: 7 })
    expect(timerSettings({}, env)).toEqual({
      store: 'sqlite:/data/t.db',
      brokerUrl: 'nats://timer:4222',
      poll: '5000ms',
      claimLimit: 100,
    })
    const defaults = { store: 'sqlite:./event_service.db', brokerUrl: 'nats://localhost:4222' }
    expect(timerSettings({}, {})).toEqual({ ...defaults, poll: undefined, claimLimit: undefined })
    expect(timerSettings({}, { TIMER_DB_PATH: '', TIMER_BATCH_SIZE: '' })).toMatchObject(defaults)
  })

  it.each(['0', '-1', '5s', '1e3'])('TIMER_POLLING_INTERVAL %j ends the command with the name of the setting', async (text) => {
    const { code, stderr } = await punctual(['timers', '--broker', 'local:'], { env: { TIMER_POLLING_INTERVAL: text } })
    expect([code, stderr]).toEqual([1, expect.stringContaining('TIMER_POLLING_INTERVAL')])
  })

  it('a flag wins over PUNCTUAL_STORE, and that over TIMER_DB_PATH', async () => {
    const [flag, ours, theirs] = [databasePath(), databasePath(), databasePath()]
    const both = { PUNCTUAL_STORE: `sqlite:${ours}`, TIMER_DB_PATH: theirs, TIMER_BROKER_URL: 'local:' }
    for (const [args, set, used] of [
      [['--store', `sqlite:${flag}`], both, flag],
      [[], both, ours],
      [[], { TIMER_DB_PATH: theirs, TIMER_BROKER_URL: 'local:' }, theirs],
    ] as const) {
      const started = new PunctualProcess(['timers', ...args], { env: set })
      onTestFinished(() => started[Symbol.asyncDispose]())
      const [, store] = await started.see(/Timers run on sqlite:(\S+) and local:/)
      expect(store).toBe(used)
      started.signal('SIGTERM')
      expect((await started.finish()).code).toBe(0)
    }
  })

  it.each([
    [['--broker', 'kafka://h:9092'], /named by nats:.*amqp:/],
    [['--broker', 'http://ada:secret@h'], /http:\/\/h/],
    [['--envelope', 'xml'], /plain, cloudevents/],
    [['--concurrency', '0'], /concurrency/],
    [['--claim-limit', 'many'], /claim-limit/],
    [['--port', '65536'], /port/],
    [['--poll', 'soon'], /poll/],
    [['--commands', 'a b'], /commands/],
    [['--events', ''], /events/],
    [['--store', 'mysql://h/db'], /sqlite:/],
  ])('%j ends the command with the name of the flag, or with what is allowed', async (args, text) => {
    const { code, stderr } = await punctual(['timers', '--broker', 'local:', '--store', 'memory:', ...args])
    expect([code === 0, stderr]).toEqual([false, expect.stringMatching(text)])
    expect(stderr).not.toContain('secret')
    expect(stderr).not.toMatch(/\n {4}at /)
  })

  it('--commands-only and --firing-only exclude each other', async () => {
    const { code, stderr } = await punctual(['timers', '--broker', 'local:', '--commands-only', '--firing-only'])
    expect([code === 0, stderr]).toEqual([false, expect.stringMatching(/cannot be used with/)])
  })
})

it('S01 punctual timers shows its metrics beyond this machine only for a token of all tenants', async () => {
  const store = ['--store', `sqlite:${databasePath()}`]
  const running = service('--broker', 'local:', ...store, '--host', '0.0.0.0', '--port', '0')
  const [, port] = await running.see(/with health at \S+:(\d+)/)
  const secrets = await Promise.all(
    [[], ['--tenants', 'acme']].map(async (more, n) => {
      const { stdout } = await punctual(['tokens', 'create', `t${n}`, '--role', 'viewer', ...more, ...store, '--json'])
      return JSON.parse(stdout).secret as string
    }),
  )
  const ask = async (path: string, secret?: string) => {
    const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` }
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    return { status: answer.status, text: await answer.text() }
  }
  expect(await ask('/readyz')).toEqual({ status: 200, text: '{"isOk":true}' })
  expect(await ask('/metrics', secrets[0])).toEqual({ status: 200, text: expect.stringContaining('timer_fired_total 0') })
  const refused = [await ask('/metrics'), await ask('/metrics', 'pt_x'), await ask('/metrics', secrets[1]), await ask('/')]
  expect(refused.map(({ status }) => status)).toEqual([401, 401, 403, 404])
})

describe.skipIf(isLeftOut(needed))('punctual timers on NATS', () => {
  it('TS-11 commands are stored while the firing side is down, and fire when it is back', async () => {
    const server = await startNats()
    onTestFinished(() => server.stop())
    const broker = nats(server.url)
    onTestFinished(() => broker.close())
    const seen = await collect(broker)
    const shared = ['--store', `sqlite:${databasePath()}`, '--broker', server.url]
    const intake = service(...shared, '--commands-only', '--port', '0')
    const [, health] = await intake.see(/with health at (\S+)/)
    const first = service(...shared, '--firing-only')
    await first.see(/Timers run/)
    await schedule(broker, ['a'])
    await seen.seen(['a'])
    first.signal('SIGKILL')
    await first.finish()
    await schedule(broker, ['b'])
    const ready = await (await fetch(new URL('/readyz', health))).json()
    expect(ready).toMatchObject({ isOk: true, commands: { isOk: true }, firing: null })
    const second = service(...shared, '--firing-only')
    await seen.seen(['a', 'b'])
    intake.signal('SIGTERM')
    expect((await intake.finish()).code).toBe(0)
    second.signal('SIGTERM')
    expect((await second.finish()).code).toBe(0)
  })

  it('nodes timers shows timers, messages that could not be carried out, and each side of each process', async () => {
    const server = await startNats()
    onTestFinished(() => server.stop())
    const broker = nats(server.url)
    onTestFinished(() => broker.close())
    const store = `sqlite:${databasePath()}`
    const shown = () => punctual(['nodes', 'timers', '--store', store])
    const intake = service('--store', store, '--broker', server.url, '--commands-only')
    await intake.see(/Timers run/)
    await broker.publish([{ channel: commands, id: 'one', body: 'nonsense' }])
    await vi.waitFor(async () => {
      const { stdout } = await shown()
      expect(stdout).toMatch(/fired +0\n[\s\S]+ poison +1\n[\s\S]+not valid JSON/)
      expect(stdout).toMatch(/NODE +STATE +BROKER +COMMANDS +FIRING +LAST BEAT\n.+ open +nats: ok +ok +elsewhere /)
    }, patiently)
    intake.signal('SIGTERM')
    await intake.finish()
    expect((await shown()).stdout).toContain('No process runs a timer service.')
  })

  it('TS-4 --commands, --events and --envelope name the channels and the wrapping', async () => {
    const server = await startNats()
    onTestFinished(() => server.stop())
    const broker = nats(server.url)
    onTestFinished(() => broker.close())
    const shared = ['--store', 'memory:', '--broker', server.url, '--envelope', 'cloudevents']
    await service(...shared, '--commands', 'my.in', '--events', 'my.out').see(/Timers run/)
    const { promise: event, resolve } = Promise.withResolvers<Delivery>()
    await broker.consume({ channel: { name: 'my.out', kind: 'topic' }, group: 'test', maxInFlight: 1 }, async (delivery) => {
      await delivery.ack()
      resolve(delivery)
    })
    await schedule(broker, ['a'], { name: 'my.in', kind: 'queue' })
    const { body, headers } = await event
    expect(headers).toMatchObject({ 'content-type': 'application/cloudevents+json' })
    expect(JSON.parse(new TextDecoder().decode(body))).toMatchObject({ specversion: '1.0', subject: 'a', tenantid: 'acme' })
  })

  it.each([
    ['SQLite', async () => `sqlite:${databasePath()}`],
    ['PostgreSQL', async () => `${await sharedPostgresUrl()}?schema=${freshSchemaName()}`],
  ])('TS-12 several instances share the work on %s, and each timer fires once', async (_, store) => {
    const server = await startNats()
    onTestFinished(() => server.stop())
    const broker = nats(server.url)
    onTestFinished(() => broker.close())
    const seen = await collect(broker)
    const shared = ['--store', await store(), '--broker', server.url, '--port', '0', '--concurrency', '5']
    const both = [service(...shared), service(...shared)]
    const urls = await Promise.all(both.map(async (one) => (await one.see(/with health at (\S+)/))[1] as string))
    const all: string[] = []
    let fired = [0, 0]
    for (let round = 0; fired.some((count) => count === 0); round++) {
      const ids = Array.from({ length: 100 }, (_, n) => `call-${round}-${n}`)
      all.push(...ids)
      await schedule(broker, ids)
      await seen.seen(ids)
      fired = await Promise.all(urls.map(firedOf))
    }
    expect(fired.reduce((sum, count) => sum + count, 0)).toBe(all.length)
    expect(seen.ids.toSorted()).toEqual(all.toSorted())
  })
})
