// Queues and exchanges. An existing queue is used as it is; those that are made are durable.
import type { Connection } from 'rabbitmq-client'
import { type Channel, deadChannel } from '../broker.ts'
import { refusalOf, type ServerError } from './refusal.ts'

/** Terminated messages go through it, by the name of their channel. */
export const deadExchange = 'punctual.dead'

/** The waits of messages that are retried. Each has a separate queue, whose messages all wait for the same time. */
const delaysMs = [500, 1000, 2000, 5000, 15_000, 60_000, 300_000, 3_600_000] as const

/** RabbitMQ 4 drops a message of a quorum queue after 20 deliveries, unless the queue names another limit. */
const unlimited = { 'x-delivery-limit': 2 ** 31 - 1 }

type ServerChannel = Awaited<ReturnType<Connection['acquire']>>
type QueueDeclaration = Exclude<Parameters<Connection['queueDeclare']>[0], string | undefined>

export class Topology {
  readonly #connection: Connection
  readonly #queueType: 'quorum' | 'classic'
  readonly #made = new Map<string, Promise<void>>()

  constructor(connection: Connection, queueType: 'quorum' | 'classic') {
    this.#connection = connection
    this.#queueType = queueType
    // A server may come back without its data.
    connection.on('connection', () => this.forget())
  }

  forget(): void {
    this.#made.clear()
  }

  /** Makes what a message to the channel needs. */
  target(channel: Channel): Promise<void> {
    return channel.kind === 'queue' ? this.#queue(channel.name) : this.#exchange(channel.name, 'fanout')
  }

  /** Makes what a consumer needs, and returns the name of its queue. */
  async source(channel: Channel, group: string): Promise<string> {
    if (channel.kind === 'queue') {
      await this.#queue(channel.name)
      return channel.name
    }
    const queue = `${channel.name}.${group}`
    await this.#exchange(channel.name, 'fanout')
    await this.#queue(queue)
    await this.#bind({ exchange: channel.name, queue })
    return queue
  }

  /** The queue in which messages wait that come back to `queue` after at least `afterMs`. */
  async delay(queue: string, afterMs: number): Promise<string> {
    const ms = delaysMs.find((one) => one >= afterMs) ?? (delaysMs.at(-1) as number)
    const name = `${queue}.delay.${ms}`
    await this.#queue(name, {
      'x-message-ttl': ms,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': queue,
      // The message leaves only when the queue it goes to has it. Classic queues know only one way.
      ...(this.#queueType === 'quorum' && { 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' }),
    })
    return name
  }

  /** Makes the queue of a channel's dead letters, and binds it to the exchange. */
  async dead(channel: Channel): Promise<void> {
    const { name } = deadChannel(channel)
    await this.#exchange(deadExchange, 'direct')
    await this.#queue(name)
    await this.#bind({ exchange: deadExchange, queue: name, routingKey: channel.name })
  }

  #queue(queue: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const type = { 'x-queue-type': this.#queueType, ...(this.#queueType === 'quorum' && unlimited) }
    const declaration = { queue, durable: true, arguments: { ...type, ...more } }
    return this.#once(`queue ${queue}`, async () => {
      const error = await this.#declare(declaration)
      if (error === null || isUsable(error)) return
      // A user without the right to make queues may use those that are there.
      const missing = error.code === 'ACCESS_REFUSED' ? await this.#declare({ queue, passive: true }) : error
      if (missing) throw missing
    })
  }

  async #declare(declaration: QueueDeclaration): Promise<ServerError | null> {
    return this.#onChannel((channel) => channel.queueDeclare(declaration)).then(
      () => null,
      (error: ServerError) => error,
    )
  }

  #exchange(exchange: string, type: 'fanout' | 'direct'): Promise<void> {
    const declaration = { exchange, type, durable: true }
    return this.#once(`exchange ${exchange}`, () => this.#onChannel((channel) => channel.exchangeDeclare(declaration)))
  }

  #bind(binding: { exchange: string; queue: string; routingKey?: string }): Promise<unknown> {
    return this.#onChannel((channel) => channel.queueBind(binding))
  }

  /**
   * Uses a separate channel: the server closes the one on which it refuses something, and with it what others do there. The client's
   * shared channel ends the process where the server does not answer its opening before the connection is closed.
   */
  async #onChannel<Value>(act: (channel: ServerChannel) => Promise<Value>): Promise<Value> {
    const channel = await this.#connection.acquire()
    try {
      return await act(channel)
    } finally {
      // Not awaited: the client never settles it when the connection breaks meanwhile.
      channel.close().catch(() => {})
    }
  }

  /** Makes a thing once, and again when that has failed. */
  #once(name: string, make: () => Promise<void>): Promise<void> {
    const known = this.#made.get(name)
    if (known) return known
    const made = make().catch((error: Error) => {
      this.#made.delete(name)
      throw refusalOf(name, error)
    })
    this.#made.set(name, made)
    return made
  }
}

/** An existing queue with other settings is used, unless it loses messages: with the server, with a connection, or as a stream, which is never emptied. */
function isUsable({ code, message }: ServerError): boolean {
  return code === 'PRECONDITION_FAILED' && !/inequivalent arg '(durable|auto_delete|exclusive)'|'stream'/.test(message)
}
