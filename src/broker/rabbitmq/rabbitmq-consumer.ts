import { type AsyncMessage, type Consumer as ClientConsumer, ConsumerStatus } from 'rabbitmq-client'
import { PunctualError } from '../../errors.ts'
import { sleep, systemClock } from '../../time/clock.ts'
import { type ConsumeOptions, type Delivery, type DeliveryHandler, reasonHeader } from '../broker.ts'
import { headersWithin, headerText, mostHeaderBytes } from '../check.ts'
import { handleDelivery } from '../handle-delivery.ts'
import { InFlight } from '../in-flight.ts'
import type { RemoteConsumer } from '../remote-broker.ts'
import type { RabbitmqBroker } from './rabbitmq.ts'
import { begun } from './refusal.ts'
import { deadExchange, type Topology } from './topology.ts'
import { closed } from './within.ts'

/** Counts the deliveries of a message that was retried: it waits in another queue, which starts the server's own count anew. */
const attemptHeader = 'x-punctual-attempt'

const restMs = 250

/** Consumes a queue. The message is acknowledged when its handler has ended, once a retry or a dead letter of it is confirmed. */
export class RabbitmqConsumer implements RemoteConsumer {
  readonly #broker: RabbitmqBroker
  readonly #options: ConsumeOptions
  readonly #handler: DeliveryHandler
  readonly #stop = new AbortController()
  readonly #inFlight: InFlight
  #isMaking = false
  #closing: Promise<void> | null = null
  #queue = ''
  #consumer: ClientConsumer | null = null

  constructor(broker: RabbitmqBroker, options: ConsumeOptions, handler: DeliveryHandler) {
    this.#broker = broker
    this.#options = options
    this.#handler = handler
    this.#inFlight = new InFlight(options.maxInFlight)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#stop.abort()
    const consumer = this.#consumer
    if (!consumer) return
    const closing = consumer.close()
    await this.#inFlight.idle()
    await closed((await this.#broker.link()).connection, closing)
  }

  /** Makes the queue again until that succeeds; the client tries its own part again and again. */
  async #makeAgain(topology: Topology): Promise<void> {
    if (this.#isMaking) return
    this.#isMaking = true
    const { channel, group } = this.#options
    const { signal } = this.#stop
    for (let isMade = false; !isMade && !signal.aborted; ) {
      topology.forget()
      isMade = await topology.source(channel, group).then(
        () => true,
        () => false,
      )
      if (!isMade) await sleep(systemClock, restMs, signal)
    }
    this.#isMaking = false
  }

  async start(): Promise<void> {
    const { channel, group, maxInFlight } = this.#options
    const { connection, topology } = await this.#broker.link()
    this.#queue = await topology.source(channel, group)
    const make = () => void this.#makeAgain(topology)
    const consumer = connection.createConsumer(
      // It may be a queue of the user's, with other settings.
      { queue: this.#queue, queueOptions: { passive: true }, qos: { prefetchCount: maxInFlight }, concurrency: maxInFlight },
      (message) => this.#handle(message),
    )
    this.#consumer = consumer
    // The server is back, perhaps without its data.
    connection.on('connection', make)
    consumer.on('error', make)
    await begun(consumer, this.#queue)
  }

  async #handle(message: AsyncMessage): Promise<ConsumerStatus> {
    const answer: { status: ConsumerStatus | null } = { status: null }
    const work = handleDelivery(this.#delivery(message, answer), this.#handler)
    this.#inFlight.add(work)
    await work
    // Neither the handler nor a retry has answered: the broker was away meanwhile.
    return answer.status ?? ConsumerStatus.REQUEUE
  }

  #delivery(message: AsyncMessage, answer: { status: ConsumerStatus | null }): Delivery {
    const given = (message.headers ?? {}) as Record<string, unknown>
    const attempt = countOf(given[attemptHeader], 1) + countOf(given['x-delivery-count'], 0)
    const headers = {
      ...(message.contentType !== undefined && { 'content-type': message.contentType }),
      ...(message.type !== undefined && { type: message.type }),
      ...Object.fromEntries(
        Object.entries(given).flatMap(([name, value]) => (name.startsWith('x-') ? [] : [[name.toLowerCase(), String(value)]])),
      ),
    }
    const settle = async (status: ConsumerStatus | Promise<ConsumerStatus>) => {
      answer.status = await status
    }
    return {
      id: message.messageId ?? null,
      headers,
      body: bytesOf(message),
      attempt,
      ack: () => settle(ConsumerStatus.ACK),
      retry: (afterMs) => settle(afterMs <= 0 ? ConsumerStatus.REQUEUE : this.#delay(message, headers, attempt, afterMs)),
      terminate: (reason) => settle(this.#bury(message, headers, reason)),
    }
  }

  async #delay(
    message: AsyncMessage,
    headers: Readonly<Record<string, string>>,
    attempt: number,
    afterMs: number,
  ): Promise<ConsumerStatus> {
    const { topology } = await this.#broker.link()
    const routingKey = await topology.delay(this.#queue, afterMs)
    return this.#send({ routingKey }, message, headers, { [attemptHeader]: String(attempt + 1) })
  }

  async #bury(message: AsyncMessage, headers: Readonly<Record<string, string>>, reason: string): Promise<ConsumerStatus> {
    const { channel } = this.#options
    const { topology } = await this.#broker.link()
    await topology.dead(channel)
    const address = { exchange: deadExchange, routingKey: channel.name }
    return this.#send(address, message, headers, { [reasonHeader]: headerText(reason) })
  }

  /** Puts a copy of the message elsewhere, after which it is acknowledged here. */
  async #send(
    address: { exchange?: string; routingKey: string },
    message: AsyncMessage,
    given: Readonly<Record<string, string>>,
    own: Readonly<Record<string, string>>,
  ): Promise<ConsumerStatus> {
    const { send } = await this.#broker.link()
    const { channel } = this.#options
    const headers = headersWithin(mostHeaderBytes, { ...own, ...given, ...own })
    const result = await send(address, { channel, id: message.messageId ?? '', headers, body: bytesOf(message) })
    if (!result.ok) throw new PunctualError('broker.unreachable', `The message was not kept: ${result.message}`)
    return ConsumerStatus.ACK
  }
}

/** A count from a header, which any sender can set. */
function countOf(given: unknown, otherwise: number): number {
  const count = Number(given ?? otherwise)
  return Number.isSafeInteger(count) && count >= otherwise ? count : otherwise
}

/** The client parses the bodies of other senders by their content type. */
function bytesOf({ body, contentType }: AsyncMessage): Buffer {
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(contentType === 'text/plain' ? String(body) : JSON.stringify(body))
}
