import type { ConsumerMessages, JsMsg, Consumer as PullConsumer } from '@nats-io/jetstream'
import { headers as makeHeaders } from '@nats-io/transport-node'
import { sleep, systemClock } from '../../time/clock.ts'
import { type ConsumeOptions, type Delivery, type DeliveryHandler, deadChannel, reasonHeader } from '../broker.ts'
import { headersWithin, headerText } from '../check.ts'
import { handleDelivery } from '../handle-delivery.ts'
import { InFlight } from '../in-flight.ts'
import type { RemoteConsumer } from '../remote-broker.ts'
import type { NatsBroker } from './nats.ts'

/** One pull waits this long for messages. A shorter wait costs requests, a longer one delays nothing. */
const pullMs = 10_000
const restMs = 250
/** A pull without messages for so long is closed, and any pull after so many of these spans. */
const quietMs = 100
const mostQuietSpans = 10
/** The version line and the name of the message id in the headers of a dead letter, in bytes. */
const headerRoom = 64
/** JetStream takes 64 kB, of which the message id may be one. */
const mostHeaderBytes = 60_000

/** Pulls messages of a durable consumer. Each pull asks only for as many as can be handled, so none waits here that another could have. */
export class NatsConsumer implements RemoteConsumer {
  readonly #broker: NatsBroker
  readonly #options: ConsumeOptions
  readonly #handler: DeliveryHandler
  readonly #stop = new AbortController()
  readonly #pulls = new Set<ConsumerMessages>()
  #pulling: Promise<unknown> = Promise.resolve()
  #received = 0

  constructor(broker: NatsBroker, options: ConsumeOptions, handler: DeliveryHandler) {
    this.#broker = broker
    this.#options = options
    this.#handler = handler
  }

  async start(): Promise<void> {
    const found = await this.#find()
    const { maxInFlight } = this.#options
    // Two pulls take turns: while the messages of one are handled, the other is on its way.
    const shares = maxInFlight > 1 ? [Math.ceil(maxInFlight / 2), Math.floor(maxInFlight / 2)] : [1]
    this.#pulling = Promise.all(shares.map((share) => this.#run(share, found)))
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#quiet()
    // Each ends its loop, which is what is waited for: the promise of `close` resolves only once the pull was read to its end.
    for (const pull of this.#pulls) void pull.close()
    await this.#pulling
  }

  /**
   * Waits while messages arrive: those on their way to a pull that is closed come again only after `ackWait`. With a backlog the pulls
   * fill up, and so end by themselves.
   */
  async #quiet(): Promise<void> {
    let before = -1
    for (let n = 0; n < mostQuietSpans && this.#pulls.size > 0 && this.#received > before; n++) {
      before = this.#received
      await sleep(systemClock, quietMs)
    }
  }

  async #run(most: number, found: PullConsumer): Promise<void> {
    const { signal } = this.#stop
    const inFlight = new InFlight(most)
    let consumer: PullConsumer | null = found
    while (!signal.aborted) {
      try {
        await inFlight.room()
        consumer ??= await this.#find()
        await this.#pull(consumer, inFlight)
      } catch {
        consumer = null
        // The server is away, or has lost the stream or the consumer: they are made again.
        const link = await this.#broker.link().catch(() => null)
        link?.streams.forget(this.#options.channel)
        await sleep(systemClock, restMs, signal)
      }
    }
    await inFlight.idle()
  }

  async #find(): Promise<PullConsumer> {
    const { js, streams } = await this.#broker.link()
    const { stream, consumer } = await streams.consumer(this.#options.channel, this.#options.group)
    return js.consumers.get(stream, consumer)
  }

  async #pull(consumer: PullConsumer, inFlight: InFlight): Promise<void> {
    if (this.#stop.signal.aborted) return
    const pull = await consumer.fetch({ max_messages: inFlight.free, expires: pullMs })
    this.#pulls.add(pull)
    try {
      if (this.#stop.signal.aborted) void pull.close()
      for await (const message of pull) {
        this.#received += 1
        inFlight.add(handleDelivery(this.#delivery(message), this.#handler))
      }
    } finally {
      this.#pulls.delete(pull)
    }
  }

  #delivery(message: JsMsg): Delivery {
    const headers = Object.fromEntries(
      [...(message.headers ?? [])].map(([name, values]) => [name.toLowerCase(), values[0] ?? '']),
    )
    const id = headers['nats-msg-id'] ?? null
    return {
      id,
      headers,
      body: message.data,
      attempt: message.info.deliveryCount,
      ack: async () => message.ack(),
      retry: async (afterMs) => message.nak(Math.max(1, afterMs)),
      terminate: async (reason) => {
        await this.#bury(message, id, headers, reason)
        // With a reason, servers before 2.10.4 do not understand it and deliver the message again.
        message.term()
      },
    }
  }

  /** Keeps the message among the dead letters before it is removed: as it came, with the reason, and cut where that makes it too large. */
  async #bury(message: JsMsg, id: string | null, given: Readonly<Record<string, string>>, reason: string): Promise<void> {
    const channel = deadChannel(this.#options.channel)
    const { nc, js, streams } = await this.#broker.link()
    const headers = makeHeaders()
    const own = { [reasonHeader]: headerText(reason) }
    let size = headerRoom
    for (const [name, value] of Object.entries(headersWithin(mostHeaderBytes, { ...own, ...given, ...own }))) {
      if (name.startsWith('nats-')) continue
      headers.set(name, value)
      size += Buffer.byteLength(`${name}: ${value}\r\n`)
    }
    const msgID = id ?? `${message.info.stream} ${message.seq}`
    const most = (nc.info?.max_payload ?? Number.POSITIVE_INFINITY) - size - Buffer.byteLength(msgID)
    await streams.stream(channel)
    await js.publish(channel.name, message.data.subarray(0, Math.max(0, most)), { msgID, headers }).catch((error: unknown) => {
      streams.forget(channel)
      throw error
    })
  }
}
