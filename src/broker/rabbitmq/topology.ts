// Queues and exchanges. An existing queue is used as it is; those that are made are durable.
import type { Connection } from 'rabbitmq-client'
import { PunctualError } from '../../errors.ts'
import { type Channel, deadChannel } from '../broker.ts'

/** Terminated messages go through it, by the name of their channel. */
export const deadExchange = 'punctual.dead'

/** The waits of messages that are retried. Each has a separate queue, whose messages all wait for the same time. */
const delaysMs = [500, 1000, 2000, 5000, 15_000, 60_000, 300_000, 3_600_000] as const

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
    await this.#connection.queueBind({ exchange: channel.name, queue })
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
    await this.#connection.queueBind({ exchange: deadExchange, queue: name, routingKey: channel.name })
  }

  #queue(queue: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    return this.#once(`queue ${queue}`, async () => {
      const isThere = await this.#has(queue)
      if (!isThere)
        await this.#connection.queueDeclare({ queue, durable: true, arguments: { 'x-queue-type': this.#queueType, ...more } })
    })
  }

  /** Uses a separate channel: the server closes the one on which a queue is missed, and with it what others do there. */
  async #has(queue: string): Promise<boolean> {
    const channel = await this.#connection.acquire()
    try {
      await channel.queueDeclare({ queue, passive: true })
      return true
    } catch (error) {
      if ((error as { code?: string }).code === 'NOT_FOUND') return false
      throw error
    } finally {
      // Not awaited: the client never settles it when the connection breaks meanwhile.
      void channel.close()
    }
  }

  #exchange(exchange: string, type: 'fanout' | 'direct'): Promise<void> {
    return this.#once(`exchange ${exchange}`, () => this.#connection.exchangeDeclare({ exchange, type, durable: true }))
  }

  /** Makes a thing once, and again when that has failed. */
  #once(name: string, make: () => Promise<void>): Promise<void> {
    const known = this.#made.get(name)
    if (known) return known
    const made = make().catch((error: { code?: string; message: string }) => {
      this.#made.delete(name)
      if (error.code === 'PRECONDITION_FAILED' || error.code === 'RESOURCE_LOCKED')
        throw new PunctualError('broker.invalid', `RabbitMQ has another ${name}: ${error.message}`, { name }, { cause: error })
      throw error
    })
    this.#made.set(name, made)
    return made
  }
}
