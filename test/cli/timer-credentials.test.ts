import { describe, expect, it, onTestFinished } from 'vitest'
import type { Broker } from '../../src/broker/broker.ts'
import { nats } from '../../src/broker/nats/index.ts'
import { rabbitmq } from '../../src/broker/rabbitmq/index.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import type { PunctualError } from '../../src/errors.ts'
import { memory } from '../../src/store/memory/index.ts'
import { createTimers } from '../../src/timers/timers.ts'
import { startNats } from '../support/servers/nats.ts'
import { isLeftOut, nats as needsNats, rabbitmq as needsRabbitmq } from '../support/servers/needed.ts'
import { startRabbitmq } from '../support/servers/rabbitmq.ts'
import { PunctualProcess, punctual } from './punctual-process.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

interface Login {
  user: string
  password: string
}

interface Server {
  readonly url: string
  kill(): Promise<void>
  wipe(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** A server, and how it comes back with another password. */
async function scene(start: (login: Login) => Promise<Server>) {
  const login = { user: 'ada', password: 'right' }
  const server = await start(login)
  onTestFinished(() => server.stop())
  const host = new URL(server.url).host
  const url = `${new URL(server.url).protocol}//ada:right@${host}`
  const restart = async (password: string) => {
    login.password = password
    await server.kill()
    await server.wipe()
    await server.start()
  }
  return { url, restart }
}

/** A timer service as a library, with the refusals that it has reported. */
async function library(broker: Broker) {
  const refusals: PunctualError[] = []
  const scheduler = createPunctual({ store: memory(), log: silent, node: { heartbeat: 100, timeout: 1000 } })
  const timers = createTimers({ punctual: scheduler, broker, onCritical: (error) => void refusals.push(error) })
  onTestFinished(async () => {
    await timers.stop()
    await scheduler.close()
    await broker.close()
  })
  await scheduler.start()
  timers.start()
  return { timers, refusals }
}

const call = { tenantId: 'acme', serviceCallId: 'none' }

describe.each([
  { name: 'NATS', needed: needsNats, start: startNats, open: nats as (url: string) => Broker },
  { name: 'RabbitMQ', needed: needsRabbitmq, start: startRabbitmq, open: rabbitmq as (url: string) => Broker },
])('TS-6 credentials that $name refuses', ({ needed, start, open }) => {
  it.skipIf(isLeftOut(needed))(
    'end punctual timers with a clear message, at the start and later, while the engine as a library waits',
    async () => {
      const { url, restart } = await scene(start)
      const first = await punctual(['timers', '--store', 'memory:', '--broker', url.replace('right', 'wrong')])
      expect([first.code, first.stderr]).toEqual([1, expect.stringContaining('refuses these credentials')])
      expect(first.stderr).not.toContain('wrong')

      const service = new PunctualProcess(['timers', '--store', 'memory:', '--broker', url])
      onTestFinished(() => service[Symbol.asyncDispose]())
      await service.see(/Timers run/)
      const { timers, refusals } = await library(open(url))
      const health = async () => (await timers.health()).isOk
      await expect.poll(health, { timeout: 60_000 }).toBe(true)
      await restart('other')
      const { code, stderr } = await service.finish()
      expect([code, stderr]).toEqual([1, expect.stringContaining('refuses these credentials')])
      expect(stderr).not.toContain('right')
      await expect.poll(() => refusals[0]?.code, { timeout: 60_000 }).toBe('broker.refused')
      const { commands, firing } = await timers.health()
      for (const side of [commands, firing])
        expect(side).toMatchObject({ isOk: false, reason: expect.stringContaining('refuses these credentials') })

      await restart('right')
      await expect.poll(health, { timeout: 60_000 }).toBe(true)
      const client = open(url)
      onTestFinished(() => client.close())
      const answer = () => client.request('timers.commands.when', JSON.stringify(call), 1000).catch(() => 'no answer')
      await expect.poll(answer, { timeout: 60_000 }).toBe('null')
    },
  )
})
