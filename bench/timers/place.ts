// One store, one NATS, and the systems on both sides of the timer service: one that sends commands, and one that receives events.
import { setTimeout as wait } from 'node:timers/promises'
import type { Channel } from '../../src/broker/broker.ts'
import { nats } from '../../src/broker/nats/index.ts'
import type { ServiceNumbers } from './service.process.ts'
import { Service } from './service.ts'

export const tenants = 1000
const dayMs = 86_400_000
const commands: Channel = { name: 'timers.commands', kind: 'queue' }
const events: Channel = { name: 'timers.events', kind: 'topic' }
/** A timer that fires no more would hold up the whole run. */
const longestMs = 300_000

export class Place {
  readonly storeUrl: string
  readonly #brokerUrl: string
  readonly #broker: ReturnType<typeof nats>
  /** Milliseconds between the due instant and the arrival of the event, by timer. */
  readonly lateness = new Map<string, number>()
  #duplicates = 0
  #early = 0
  readonly #due = new Map<string, number>()

  static async open(storeUrl: string, brokerUrl: string): Promise<Place> {
    const place = new Place(storeUrl, brokerUrl)
    await place.#broker.consume({ channel: events, group: 'bench', maxInFlight: 1000 }, async (delivery) => {
      place.#note(JSON.parse(Buffer.from(delivery.body).toString()).payload.serviceCallId)
      await delivery.ack()
    })
    return place
  }

  private constructor(storeUrl: string, brokerUrl: string) {
    this.storeUrl = storeUrl
    this.#brokerUrl = brokerUrl
    this.#broker = nats(brokerUrl)
  }

  #note(id: string): void {
    const lateMs = Date.now() - (this.#due.get(id) as number)
    if (lateMs < 0) this.#early++
    if (this.lateness.has(id)) this.#duplicates++
    else this.lateness.set(id, lateMs)
  }

  /** Every event came, none early; a duplicate is allowed, and told. */
  check(): number {
    if (this.#early > 0) throw new Error(`${this.#early} events came early`)
    return this.#duplicates
  }

  async brokerVersion(): Promise<string | null> {
    return (await this.#broker.health()).version
  }

  services(count: number): Promise<Service[]> {
    return Promise.all(Array.from({ length: count }, () => Service.open(this.storeUrl, this.#brokerUrl)))
  }

  /** Sends commands whose events are awaited, and returns when the broker has them. */
  async send(name: string, total: number, dueAt: (n: number) => number): Promise<void> {
    await this.#publish(name, total, (n, id) => {
      const due = Math.ceil(dueAt(n))
      this.#due.set(id, due)
      return due
    })
  }

  /** Sends commands for timers that are due between tomorrow and a month from now. */
  async fill(total: number): Promise<void> {
    const from = Date.now() + dayMs
    await this.#publish('pending', total, (n) => from + ((n * 7919) % 30) * dayMs + n)
  }

  async #publish(name: string, total: number, dueAt: (n: number, id: string) => number): Promise<void> {
    for (let from = 0; from < total; from += 500) {
      const messages = Array.from({ length: Math.min(500, total - from) }, (_, at) => {
        const n = from + at
        const id = `${name}-${n}`
        const due = new Date(dueAt(n, id)).toISOString()
        const body = JSON.stringify({ type: 'ScheduleTimer', tenantId: `t${n % tenants}`, serviceCallId: id, dueAt: due })
        return { channel: commands, id, body }
      })
      const failure = (await this.#broker.publish(messages)).find(({ ok }) => !ok)
      if (failure) throw new Error(`not published: ${JSON.stringify(failure)}`)
    }
  }

  /** Waits until the services have stored so many timers. Asking costs them nothing that shows. */
  async stored(services: readonly Service[], count: number): Promise<ServiceNumbers[]> {
    return this.#until(services, (all) => sum(all, ({ metrics }) => metrics.schedulesProcessed.created) >= count)
  }

  /** Waits until so many events of a name have arrived. */
  async arrived(count: number): Promise<void> {
    const end = Date.now() + longestMs
    while (this.lateness.size < count) {
      if (Date.now() > end) throw new Error(`${this.lateness.size} of ${count} events came`)
      await wait(5)
    }
  }

  async close(): Promise<void> {
    await this.#broker.close()
  }

  async #until(services: readonly Service[], isDone: (all: ServiceNumbers[]) => boolean): Promise<ServiceNumbers[]> {
    const end = Date.now() + longestMs
    for (;;) {
      const all = await Promise.all(services.map((service) => service.numbers()))
      if (isDone(all)) return all
      if (Date.now() > end) throw new Error('The commands were not carried out in time')
      await wait(10)
    }
  }
}

export function sum(all: readonly ServiceNumbers[], of: (numbers: ServiceNumbers) => number): number {
  return all.reduce((total, one) => total + of(one), 0)
}
