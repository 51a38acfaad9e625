import { PunctualError } from '../errors.ts'
import type { Broker, BrokerHealth, ConsumeOptions, Consumer, DeliveryHandler, OutMessage, PublishResult } from './broker.ts'
import { checkChannel } from './check.ts'

/** A consumer that its broker has made and not started. */
export interface RemoteConsumer extends Consumer {
  start(): Promise<void>
}

/** A broker on a server. `Link` is a connection with all that belongs to it: made at the first use, and again after one that failed. */
export abstract class RemoteBroker<Link> implements Broker {
  abstract readonly name: string
  readonly #consumers: Consumer[] = []
  #link: Promise<Link> | null = null
  #isClosed = false

  async open(): Promise<void> {
    const link = await this.link()
    // The client tries again without giving the reason of a failure; a second connection finds it.
    if (!this.isUp(link)) await this.tryToConnect()
  }

  link(): Promise<Link> {
    if (this.#link) return this.#link
    if (this.#isClosed) return Promise.reject(new PunctualError('broker.closed', 'This broker was closed; make a new one'))
    const link = this.connect()
    this.#link = link
    link.catch(() => {
      if (this.#link === link) this.#link = null
    })
    return link
  }

  /** While there is no connection, or it is down, none of the messages is sent. */
  async publish(messages: readonly OutMessage[]): Promise<readonly PublishResult[]> {
    let link: Link
    try {
      link = await this.link()
      if (!this.isUp(link)) throw new PunctualError('broker.unreachable', connectionDown)
    } catch (error) {
      const { message } = error as Error
      return messages.map(() => ({ ok: false, reason: 'unreachable', message }) as const)
    }
    return Promise.all(messages.map((message) => this.publishOne(link, message)))
  }

  async consume(options: ConsumeOptions, handler: DeliveryHandler): Promise<Consumer> {
    checkChannel(options.channel)
    checkChannel({ name: options.group, kind: 'queue' }, 'group')
    const consumer = this.consumer(options, handler)
    await consumer.start()
    this.#consumers.push(consumer)
    return consumer
  }

  async request(subject: string, body: string, timeoutMs: number): Promise<string> {
    const link = await this.link()
    try {
      return await this.ask(link, subject, body, timeoutMs)
    } catch (cause) {
      const message = `No answer on ${subject}: ${(cause as Error).message}`
      throw new PunctualError('broker.unreachable', message, { subject }, { cause })
    }
  }

  async health(): Promise<BrokerHealth> {
    try {
      const link = await this.link()
      if (!this.isUp(link)) return unhealthy(connectionDown)
      return { isOk: true, reason: null, ...(await this.probe(link)) }
    } catch (error) {
      return unhealthy((error as Error).message)
    }
  }

  /** No connection is made from here on. The one that there is serves deliveries until they are answered. */
  async close(): Promise<void> {
    this.#isClosed = true
    const link = await this.#link?.catch(() => null)
    if (link) await this.disconnect(link, () => Promise.all(this.#consumers.map((consumer) => consumer.close())))
    this.forget()
  }

  abstract respond(subject: string, group: string, answer: (body: string) => Promise<string>): Promise<Consumer>

  /** The next call connects anew. */
  protected forget(): void {
    this.#link = null
  }

  /** Throws as `connectError` makes it. */
  protected abstract connect(): Promise<Link>
  /** Makes a connection and closes it again. Throws like `connect`. */
  protected abstract tryToConnect(): Promise<void>
  protected abstract disconnect(link: Link, closeConsumers: () => Promise<unknown>): Promise<void>
  protected abstract isUp(link: Link): boolean
  /** Never throws. */
  protected abstract publishOne(link: Link, message: OutMessage): Promise<PublishResult>
  protected abstract consumer(options: ConsumeOptions, handler: DeliveryHandler): RemoteConsumer
  protected abstract ask(link: Link, subject: string, body: string, timeoutMs: number): Promise<string>
  /** Makes the server do something. */
  protected abstract probe(link: Link): Promise<Pick<BrokerHealth, 'version' | 'warnings'>>
}

/** The error of a connection that was not made. */
export function connectError(server: string, url: string, isRefused: boolean, cause: Error): PunctualError {
  const [code, what] = isRefused
    ? (['broker.refused', 'refuses these credentials'] as const)
    : (['broker.unreachable', 'cannot be reached'] as const)
  return new PunctualError(code, `${server} at ${url} ${what}: ${cause.message}`, { url }, { cause })
}

const connectionDown = 'the connection is down or blocked'

/** The health of a broker that does not answer. */
export function unhealthy(reason: string): BrokerHealth {
  return { isOk: false, reason, version: null, warnings: [] }
}
