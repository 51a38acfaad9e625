import { randomUUID } from 'node:crypto'
import type { Broker, Channel, Consumer, Delivery, DeliveryHandler } from '../../broker/broker.ts'
import { sleep, systemClock } from '../../time/clock.ts'
import type { BrokerServer } from '../broker-suite.ts'

/** A broker for one case, with channels that no other case uses. */
export class BrokerScene {
  readonly broker: Broker
  readonly server: BrokerServer | null
  readonly #open: () => Promise<Broker>
  readonly #opened: Broker[] = []
  readonly #consumers: Consumer[] = []

  static async open(open: () => Promise<Broker>, server: BrokerServer | null): Promise<BrokerScene> {
    return new BrokerScene(await open(), open, server)
  }

  private constructor(broker: Broker, open: () => Promise<Broker>, server: BrokerServer | null) {
    this.broker = broker
    this.server = server
    this.#open = open
  }

  channel(kind: Channel['kind'] = 'queue'): Channel {
    return { name: `suite.${randomUUID()}`, kind }
  }

  /** A second connection to the same server. */
  async another(): Promise<Broker> {
    const broker = await this.#open()
    this.#opened.push(broker)
    return broker
  }

  /** Publishes texts, the text being the id too, and throws unless all were accepted. */
  async publish(channel: Channel, ...texts: string[]): Promise<void> {
    const results = await this.broker.publish(texts.map((body) => ({ channel, id: body, body })))
    for (const result of results) if (!result.ok) throw new Error(`not published: ${result.reason}, ${result.message}`)
  }

  /** Publishes one text, again and again until it is accepted: a broker that has just come back may need a moment. */
  async publishUntilAccepted(channel: Channel, text: string): Promise<void> {
    for (;;) {
      const [result] = await this.broker.publish([{ channel, id: text, body: text }])
      if (result?.ok) return
      await sleep(systemClock, 20)
    }
  }

  async consume(
    channel: Channel,
    handler: DeliveryHandler,
    { broker = this.broker, group = 'suite', maxInFlight = 10 }: { broker?: Broker; group?: string; maxInFlight?: number } = {},
  ): Promise<Consumer> {
    const consumer = await broker.consume({ channel, group, maxInFlight }, handler)
    this.#consumers.push(consumer)
    return consumer
  }

  /** The messages of a channel in the order of arrival, each acknowledged unless `answer` does something else. */
  async inbox(
    channel: Channel,
    options: { broker?: Broker; group?: string; maxInFlight?: number; answer?: DeliveryHandler } = {},
  ): Promise<Inbox> {
    const inbox = new Inbox()
    await this.consume(
      channel,
      async (delivery) => {
        inbox.add(delivery)
        await (options.answer ?? (() => delivery.ack()))(delivery)
      },
      options,
    )
    return inbox
  }

  async close(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.close()))
    await Promise.all([this.broker, ...this.#opened].map((broker) => broker.close()))
  }
}

/** Received messages. */
export class Inbox {
  readonly all: Delivery[] = []
  readonly #waiting: Delivery[] = []
  readonly #takers: ((delivery: Delivery) => void)[] = []

  add(delivery: Delivery): void {
    this.all.push(delivery)
    const taker = this.#takers.shift()
    if (taker) taker(delivery)
    else this.#waiting.push(delivery)
  }

  /** The next message, once it is there. */
  next(): Promise<Delivery> {
    const delivery = this.#waiting.shift()
    return delivery ? Promise.resolve(delivery) : new Promise((resolve) => this.#takers.push(resolve))
  }

  async texts(count: number): Promise<string[]> {
    const texts = []
    for (let at = 0; at < count; at++) texts.push(textOf(await this.next()))
    return texts
  }
}

export function textOf({ body }: Delivery): string {
  return new TextDecoder().decode(body)
}
