// A service call that is due later, end to end over NATS: the API schedules a timer, the timer service fires it, and an orchestration
// runs the call once although the event arrives twice. Start NATS with JetStream and the timer service first:
//   nats-server -js
//   npx punctual timers --store sqlite:./timers.db --broker nats://127.0.0.1:4222
import process from 'node:process'
import { nats } from 'punctual/nats'
import type { Broker } from 'punctual/timers'

const commands = { name: 'timers.commands', kind: 'queue' } as const
const events = { name: 'timers.events', kind: 'topic' } as const

/** The API: accepts a service call and asks for a timer. */
async function submit(broker: Broker, serviceCallId: string, delayMs: number): Promise<void> {
  const dueAt = new Date(Date.now() + delayMs).toISOString()
  const command = { type: 'ScheduleTimer', tenantId: 'acme', serviceCallId, dueAt, correlationId: `req-${serviceCallId}` }
  const [result] = await broker.publish([{ channel: commands, id: `schedule-${serviceCallId}`, body: JSON.stringify(command) }])
  if (!result?.ok) throw new Error(`The command was not accepted: ${result?.message}`)
}

/** The orchestration: runs each call once, however often its event arrives. In real life `running` is a row of its database. */
class Orchestration {
  readonly #states = new Map<string, 'running'>()
  readonly done = Promise.withResolvers<void>()
  #duplicates = 0

  async start(broker: Broker): Promise<void> {
    await broker.consume({ channel: events, group: 'orchestration', maxInFlight: 10 }, async (delivery) => {
      const event = JSON.parse(new TextDecoder().decode(delivery.body))
      this.#handle(event.payload.serviceCallId)
      await delivery.ack()
      // A deliberate duplicate: the same event under another message id, as after a crash of the timer service.
      if (!delivery.id?.endsWith('-again'))
        await broker.publish([{ channel: events, id: `${delivery.id}-again`, body: JSON.stringify(event) }])
    })
  }

  #handle(serviceCallId: string): void {
    if (this.#states.has(serviceCallId)) {
      console.log(`${serviceCallId}: duplicate, ignored`)
      if (++this.#duplicates === 2) this.done.resolve()
      return
    }
    this.#states.set(serviceCallId, 'running')
    console.log(`${serviceCallId}: due, running`)
  }
}

const broker = nats(process.env.NATS_URL ?? 'nats://127.0.0.1:4222')
const orchestration = new Orchestration()
await orchestration.start(broker)
await submit(broker, 'call-1', 300)
await submit(broker, 'call-2', 600)
await orchestration.done.promise
await broker.close()
