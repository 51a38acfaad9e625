import { Client, type QueryConfig } from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Context } from '../../../src/store/postgres/context.ts'
import { Notifier } from '../../../src/store/postgres/hints/notifier.ts'
import type { Hint } from '../../../src/store/store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { systemClock } from '../../../src/time/clock.ts'
import { patiently } from '../../support/patiently.ts'
import { postgresContext } from '../../support/postgres-context.ts'
import { sharedPostgresUrl } from '../../support/postgres-database.ts'
import { postgresScene } from '../../support/postgres-scene.ts'
import { TcpProxy } from '../../support/servers/tcp-proxy.ts'

const now = 1_000_000

it('what one tells, the others hear, and who listens beside it at once', async () => {
  const context = await postgresContext(now)
  const [teller, beside] = await open(context)
  const [, elsewhere] = await open(context)
  await areListening(context, 2)
  const hints: Hint[] = [{ kind: 'due', at: now + 3 }, { kind: 'job' }, { kind: 'cancel', node: 'node-1' }]
  teller.announce(hints)
  expect(beside).toEqual(hints)
  await vi.waitFor(() => expect(new Set(elsewhere)).toEqual(new Set(hints)), patiently)
  teller.announce([{ kind: 'job' }])
  await vi.waitFor(() => expect(elsewhere).toHaveLength(4), patiently)
  expect(beside, 'its own word does not come back').toHaveLength(4)
})

it('what is only told goes to nobody else, nor what is due in a while', async () => {
  const context = await postgresContext(now)
  const [teller, beside] = await open(context)
  const [, elsewhere] = await open(context)
  await areListening(context, 2)
  teller.send([{ kind: 'cancel', node: 'node-1' }])
  teller.announce([{ kind: 'due', at: now + 60_000 }])
  teller.announce([{ kind: 'job' }])
  await vi.waitFor(() => expect(elsewhere).toEqual([{ kind: 'job' }]), patiently)
  expect(beside.map(({ kind }) => kind)).toEqual(['cancel', 'due', 'job'])
})

it('what comes together while a notification is under way becomes one', async () => {
  const context = await postgresContext(now)
  const payloads = await eavesdrop(context.db)
  const [teller] = await open(context, { isHeard: false })
  for (let i = 100; i > 0; i--) teller.announce([{ kind: 'due', at: now + i }])
  await teller.stop()
  await vi.waitFor(() => expect(payloads).toHaveLength(2), patiently)
  expect(payloads.map((payload) => JSON.parse(payload).due)).toEqual([now + 100, now + 1])
})

it('listens only while somebody is subscribed', async () => {
  const context = await postgresContext(now)
  const hints = new Notifier(context, undefined)
  hints.start(systemClock)
  const stops = [hints.subscribe(() => {}), hints.subscribe(() => {})]
  await areListening(context, 1)
  for (const stop of stops) stop()
  await areListening(context, 0)
  hints.subscribe(() => {})
  await areListening(context, 1)
  await hints.stop()
  await areListening(context, 0)
})

it('comes back after a break, and tells that something may have been missed', async () => {
  const context = await postgresContext(now)
  const clock = manualClock()
  const [hints, heard] = await open(context, { clock })
  const [teller] = await open(context, { isHeard: false })
  await areListening(context, 1)
  expect(heard).toEqual([])
  await context.db.rows(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${isListening(context)}`)
  await areListening(context, 0)
  await vi.waitFor(() => expect(clock.nextTimerMs).toBeGreaterThan(0), patiently)
  await clock.advance(clock.nextTimerMs as number)
  await vi.waitFor(() => expect(heard).toEqual([{ kind: 'due', at: now }, { kind: 'job' }]), patiently)
  teller.announce([{ kind: 'job' }])
  await vi.waitFor(() => expect(heard).toHaveLength(3), patiently)
  await hints.stop()
  expect(clock.pending).toBe(0)
})

it('waits longer each time while there is no server, and never throws', async () => {
  const context = await postgresContext(now)
  const clock = manualClock()
  const [hints, heard] = await open(context, { clock, listenUrl: 'postgres://127.0.0.1:1/none' })
  const waits: number[] = []
  for (let i = 0; i < 4; i++) {
    await vi.waitFor(() => expect(clock.nextTimerMs).not.toBeNull(), patiently)
    waits.push(clock.nextTimerMs as number)
    await clock.advance(clock.nextTimerMs as number)
  }
  expect(waits).toEqual([100, 200, 400, 800])
  expect(heard).toEqual([])
  await hints.stop()
})

it('a line that is dead without a word is noticed and replaced', async () => {
  const context = await postgresContext(now)
  const clock = manualClock()
  await using proxy = await TcpProxy.start({ url: await sharedPostgresUrl() })
  const [hints, heard] = await open(context, { clock, listenUrl: proxy.url })
  await areListening(context, 1)
  await clock.advance('5m')
  expect(heard, 'a line that answers stays').toEqual([])
  proxy.stall()
  await clock.advance('1m')
  await clock.advance('1m')
  await proxy.heal()
  await clock.advance('1m')
  await vi.waitFor(() => expect(heard).toHaveLength(2), patiently)
  await hints.stop()
})

it('without notifications hints stay within the process', async () => {
  const context = await postgresContext(now)
  const payloads = await eavesdrop(context.db)
  const [hints, heard] = await open(context, { listenUrl: false })
  hints.announce([{ kind: 'job' }])
  expect(heard).toEqual([{ kind: 'job' }])
  await hints.stop()
  await areListening(context, 0)
  expect(payloads).toEqual([])
})

it('a commit may bring its notification along while there is little to send, and commits are quick', async () => {
  const context = await postgresContext(now)
  const clock = manualClock()
  const [hints] = await open(context, { clock, isHeard: false })
  const isAlong = () => hints.along(now) !== null
  expect(isAlong()).toBe(true)
  expect(hints.along(now + 60_000), 'due in a while').toBeNull()
  hints.announce([{ kind: 'job' }])
  expect(isAlong(), 'one is under way').toBe(false)
  await clock.settle()
  expect(isAlong(), 'one was just sent').toBe(false)
  await clock.advance(10)
  expect(isAlong()).toBe(true)
  hints.wentAlong(1)
  expect(isAlong()).toBe(false)
  await clock.advance(10)
  hints.wentAlong(21)
  await clock.advance(999)
  expect(isAlong(), 'the last may have waited for others').toBe(false)
  await clock.advance(1)
  expect(isAlong()).toBe(true)
  const [silent] = await open(context, { listenUrl: false })
  expect(silent.along(now)).toBeNull()
})

it('the commit of new work tells others of it by itself; what follows at once is told by a commit of its own', async () => {
  const { scene, schema } = await postgresScene()
  const payloads = await eavesdrop({ schema })
  const sent = vi.spyOn(Client.prototype, 'query')
  onTestFinished(() => sent.mockRestore())
  const notifications = () =>
    sent.mock.calls.filter(([query]) => /^SELECT set_config.*pg_notify/.test((query as unknown as QueryConfig).text))
  await scene.store.create([scene.row({ due: { in: 3 } })])
  await vi.waitFor(() => expect(payloads.map((payload) => JSON.parse(payload).due)).toEqual([scene.now + 3]), patiently)
  expect(notifications()).toHaveLength(0)
  await scene.store.create([scene.row({ due: { in: 2 } }), scene.row({ due: { in: 60_000 } })])
  await vi.waitFor(() => expect(payloads).toHaveLength(2), patiently)
  expect(notifications()).toHaveLength(1)
})

it('words of others that are no hints are passed over', async () => {
  const context = await postgresContext(now)
  const [, heard] = await open(context)
  await areListening(context, 1)
  for (const payload of ['', 'x', 'null', '[1]', '{"due":"soon","cancel":1}', '{"by":"x","due":7}'])
    await context.db.rows('SELECT pg_notify($1, $2)', [`punctual_${context.db.schema}`, payload])
  await vi.waitFor(() => expect(heard).toEqual([{ kind: 'due', at: 7 }]), patiently)
})

it('a notification that fails is no error of anybody', async () => {
  const context = await postgresContext(now)
  const db = Object.assign(Object.create(context.db), {
    rows: () => Promise.reject(new Error('gone')),
    schema: context.db.schema,
  })
  const [hints] = await open({ ...context, db }, { isHeard: false })
  hints.announce([{ kind: 'job' }])
  await hints.stop()
})

interface Opening {
  readonly clock?: typeof systemClock
  readonly listenUrl?: string | false
  readonly isHeard?: boolean
}

async function open(
  context: Context,
  { clock = systemClock, listenUrl, isHeard = true }: Opening = {},
): Promise<[hints: Notifier, heard: Hint[]]> {
  const hints = new Notifier(context, listenUrl)
  const heard: Hint[] = []
  if (isHeard) hints.subscribe((hint) => heard.push(hint))
  hints.start(clock)
  onTestFinished(() => hints.stop())
  return [hints, heard]
}

function isListening({ db }: Context): string {
  return `query = 'LISTEN "punctual_${db.schema}"'`
}

async function areListening(context: Context, count: number): Promise<void> {
  const ask = `SELECT pid FROM pg_stat_activity WHERE ${isListening(context)} AND state = 'idle'`
  await vi.waitFor(async () => expect(await context.db.rows(ask)).toHaveLength(count), patiently)
}

/** All that is said on the channel. */
async function eavesdrop({ schema }: { readonly schema: string }): Promise<string[]> {
  const client = new Client(await sharedPostgresUrl())
  await client.connect()
  onTestFinished(() => client.end())
  const payloads: string[] = []
  client.on('notification', ({ payload }) => payloads.push(payload ?? ''))
  await client.query(`LISTEN "punctual_${schema}"; SELECT 1`)
  return payloads
}
