import { Connection, type Envelope, type Publisher } from 'rabbitmq-client'
import { PunctualError } from '../../errors.ts'
import { systemClock } from '../../time/clock.ts'
import type {
  Broker,
  BrokerHealth,
  ConsumeOptions,
  Consumer,
  DeliveryHandler,
  OutMessage,
  PublishFailure,
  PublishResult,
} from '../broker.ts'
import { checkMessage } from '../check.ts'
import { connectError, RemoteBroker } from '../remote-broker.ts'
import { type ParsedRabbitmqOptions, parseRabbitmqOptions, type RabbitmqOptions } from './options.ts'
import { RabbitmqConsumer } from './rabbitmq-consumer.ts'
import { begun } from './refusal.ts'
import { Topology } from './topology.ts'
import { closed, within } from './within.ts'

/**
 * RabbitMQ 3.10 or later. Topics become fanout exchanges with a queue for each group; a message that no
 * queue takes is not published. Needs `rabbitmq-client`.
 * @example const broker = rabbitmq('amqp://user:password@127.0.0.1:5672')
 */
export function rabbitmq(options: string | RabbitmqOptions = {}): Broker {
  return new RabbitmqBroker(parseRabbitmqOptions(options))
}

/** A connection, and all that belongs to it. */
export interface Link {
  readonly connection: Connection
  readonly topology: Topology
  /** Sends to an exchange and a key, and resolves with the broker's confirmation that a queue has it. */
  readonly send: (address: Address, message: OutMessage) => Promise<PublishResult>
  readonly closePublishers: () => Promise<unknown>
}

interface Address {
  readonly exchange?: string
  readonly routingKey: string
}

export class RabbitmqBroker extends RemoteBroker<Link> {
  readonly name = 'rabbitmq'
  readonly #options: ParsedRabbitmqOptions

  constructor(options: ParsedRabbitmqOptions) {
    super()
    this.#options = options
  }

  async respond(subject: string, _group: string, answer: (body: string) => Promise<string>): Promise<Consumer> {
    const { connection } = await this.link()
    const consumer = connection.createConsumer(
      { queue: subject, queueOptions: { durable: false, autoDelete: true }, qos: { prefetchCount: 100 }, noAck: true },
      async ({ body }, reply) => {
        // Without an answer the request ends by its timeout.
        await answer(textOf(body))
          .then((answered) => reply(Buffer.from(answered)))
          .catch(() => {})
      },
    )
    await begun(consumer, subject)
    return { close: () => closed(connection, consumer.close()) }
  }

  protected async connect(): Promise<Link> {
    const connection = await this.#dial()
    return { connection, topology: new Topology(connection, this.#options.queueType), ...sender(connection) }
  }

  protected async tryToConnect(): Promise<void> {
    ;(await this.#dial()).unsafeDestroy()
  }

  protected async disconnect({ connection, closePublishers }: Link, closeConsumers: () => Promise<unknown>): Promise<void> {
    await closeConsumers()
    await closed(
      connection,
      closePublishers().then(() => connection.close()),
    )
    connection.unsafeDestroy()
  }

  protected isUp({ connection }: Link): boolean {
    return connection.ready
  }

  protected async publishOne({ topology, send }: Link, message: OutMessage): Promise<PublishResult> {
    try {
      checkMessage(message)
      checkProperties(message)
      const size = Buffer.byteLength(message.body)
      if (size > this.#options.maxBytes)
        return { ok: false, reason: 'too-large', message: `${size} bytes, of at most ${this.#options.maxBytes}` }
      const { name, kind } = message.channel
      await within(topology.target(message.channel), 'no answer')
      const result = await send(kind === 'queue' ? { routingKey: name } : { exchange: name, routingKey: '' }, message)
      // The queue may have been deleted.
      if (!result.ok) topology.forget()
      return result
    } catch (error) {
      topology.forget()
      return publishFailure(error)
    }
  }

  protected consumer(options: ConsumeOptions, handler: DeliveryHandler): RabbitmqConsumer {
    return new RabbitmqConsumer(this, options, handler)
  }

  protected async ask({ connection }: Link, subject: string, body: string, timeoutMs: number): Promise<string> {
    const client = connection.createRPCClient({ timeout: timeoutMs })
    try {
      return textOf((await client.send({ routingKey: subject }, Buffer.from(body))).body)
    } finally {
      await client.close()
    }
  }

  protected async probe({ connection }: Link): Promise<Pick<BrokerHealth, 'version' | 'warnings'>> {
    const channel = await within(connection.acquire(), 'no channel was opened')
    await within(channel.close(), 'a channel was not closed')
    return { version: null, warnings: [] }
  }

  async #dial(): Promise<Connection> {
    const connection = new Connection(this.#options.connection)
    const { promise: failed, reject } = Promise.withResolvers<never>()
    // The first error ends this attempt; later ones are followed by a reconnect.
    connection.on('error', reject)
    failed.catch(() => {})
    try {
      await Promise.race([within(connection.onConnect(0, true), 'no answer'), failed])
      return connection
    } catch (error) {
      connection.unsafeDestroy()
      const { code, message } = error as Error & { code?: string }
      const isRefused = /ACCESS_REFUSED|NOT_ALLOWED|auth/i.test(`${code} ${message}`)
      throw connectError('RabbitMQ', this.#options.shownUrl, isRefused, error as Error)
    }
  }
}

function textOf(body: unknown): string {
  return Buffer.isBuffer(body) ? body.toString() : String(body)
}

/** The client cuts longer ones, so two ids could become one. */
function checkProperties({ id, headers = {} }: OutMessage): void {
  for (const [name, value = ''] of Object.entries({ id, 'content-type': headers['content-type'], type: headers.type }))
    if (Buffer.byteLength(value) > 255)
      throw new PunctualError('option.invalid', `${name} of a message must be at most 255 bytes on RabbitMQ`, {
        field: name,
        max: 255,
      })
}

/** A confirmation alone does not say that a queue has the message: one that none takes is returned first. */
function sender(connection: Connection): Pick<Link, 'send' | 'closePublishers'> {
  const returned = new Set<string>()
  const publishers = new Map<string, Publisher>()
  // The server closes a channel at a refusal, for the oldest message on it: each exchange has its own.
  const publisherOf = (exchange: string) => {
    const known = publishers.get(exchange)
    if (known) return known
    const publisher = connection.createPublisher({ confirm: true })
    publisher.on('basic.return', ({ headers }) => void returned.add(String(headers?.['x-send'])))
    publishers.set(exchange, publisher)
    return publisher
  }
  let sends = 0
  const send: Link['send'] = async ({ exchange = '', routingKey }, { id, headers = {}, body }) => {
    const send = String(++sends)
    const envelope = {
      exchange,
      routingKey,
      messageId: id,
      ...propertiesOf(headers),
      headers: { ...headers, 'x-send': send },
      durable: true,
      mandatory: true,
    }
    try {
      await within(publisherOf(exchange).send(envelope, Buffer.from(body)), 'no confirmation')
    } catch (error) {
      return publishFailure(error)
    }
    // The client emits a return one turn of the event loop late, and so perhaps after the confirmation that follows it.
    await new Promise<void>((resolve) => systemClock.soon(resolve))
    if (returned.delete(send))
      return { ok: false, reason: 'unroutable', message: `no queue takes messages of ${exchange || routingKey}` }
    return { ok: true, isDuplicate: false }
  }
  return { send, closePublishers: () => Promise.all([...publishers.values()].map((publisher) => publisher.close())) }
}

/** The content type and the type as AMQP has them. With an encoding the client of a receiver leaves the body as it is. */
function propertiesOf({ 'content-type': contentType, type }: Readonly<Record<string, string>>): Partial<Envelope> {
  return { ...(contentType !== undefined && { contentType, contentEncoding: 'utf-8' }), ...(type !== undefined && { type }) }
}

function publishFailure(error: unknown): PublishResult {
  const { code, message } = error as { code?: string; message: string }
  const reasons: Readonly<Record<string, PublishFailure>> = { NACK: 'full', ACCESS_REFUSED: 'refused' }
  if (error instanceof PunctualError)
    return { ok: false, reason: error.code === 'broker.unreachable' ? 'unreachable' : 'refused', message }
  return { ok: false, reason: reasons[code ?? ''] ?? 'unreachable', message }
}
