import { type JetStreamClient, jetstream, jetstreamManager } from '@nats-io/jetstream'
import {
  connect,
  type MsgHdrs,
  headers as makeHeaders,
  type NatsConnection,
  PermissionViolationError,
} from '@nats-io/transport-node'
import { PunctualError } from '../../errors.ts'
import type { Broker, BrokerHealth, ConsumeOptions, Consumer, DeliveryHandler, OutMessage, PublishResult } from '../broker.ts'
import { bytesOf } from '../bytes-of.ts'
import { checkMessage } from '../check.ts'
import { connectError, RemoteBroker } from '../remote-broker.ts'
import { NatsConsumer } from './nats-consumer.ts'
import { type NatsOptions, type ParsedNatsOptions, parseNatsOptions } from './options.ts'
import { publishFailure } from './publish-failure.ts'
import { Publisher } from './publisher.ts'
import { isPermissionMissing, Streams } from './streams.ts'

/**
 * NATS JetStream. Queues become work-queue streams and topics streams with limits; an existing stream that covers the subject is used.
 * Needs `@nats-io/transport-node` and `@nats-io/jetstream`.
 * @example const broker = nats('nats://127.0.0.1:4222')
 */
export function nats(options: string | NatsOptions = {}): Broker {
  return new NatsBroker(parseNatsOptions(options))
}

const answerMs = 5000

/** A connection that was made, and all that belongs to it. */
export interface Link {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly publisher: Publisher
  readonly streams: Streams
}

export class NatsBroker extends RemoteBroker<Link> {
  readonly name = 'nats'
  readonly #options: ParsedNatsOptions
  #isUp = false

  constructor(options: ParsedNatsOptions) {
    super()
    this.#options = options
  }

  async respond(subject: string, group: string, answer: (body: string) => Promise<string>): Promise<Consumer> {
    const { nc } = await this.link()
    const subscription = nc.subscribe(subject, {
      queue: group,
      callback: (error, message) => {
        // Without an answer the request ends by its timeout.
        if (!error)
          answer(message.string())
            .then((body) => message.respond(body))
            .catch(() => {})
      },
    })
    // The server must know of it before a request can find it.
    await nc.flush()
    return { close: async () => subscription.unsubscribe() }
  }

  protected async connect(): Promise<Link> {
    const nc = await this.#dial()
    try {
      const jsm = await jetstreamManager(nc, { timeout: answerMs, checkAPI: true })
      const publisher = new Publisher(nc, { answerMs, inboxPrefix: this.#options.connection.inboxPrefix })
      const link = { nc, js: jetstream(nc, { timeout: answerMs }), publisher, streams: new Streams(jsm, this.#options) }
      this.#isUp = true
      void this.#watch(link)
      return link
    } catch (error) {
      await nc.close()
      const [code, what] = isPermissionMissing(error)
        ? (['broker.refused', 'is refused to this user'] as const)
        : (['broker.unreachable', 'does not answer'] as const)
      throw new PunctualError(code, `JetStream ${what}: ${(error as Error).message}`, {}, { cause: error })
    }
  }

  protected async tryToConnect(): Promise<void> {
    await (await this.#dial()).close()
  }

  protected async disconnect({ nc }: Link, closeConsumers: () => Promise<unknown>): Promise<void> {
    await closeConsumers()
    await nc.close()
  }

  protected isUp(): boolean {
    return this.#isUp
  }

  protected publishOne(link: Link, message: OutMessage): Promise<PublishResult> {
    return publishOne(link, message)
  }

  protected consumer(options: ConsumeOptions, handler: DeliveryHandler): NatsConsumer {
    return new NatsConsumer(this, options, handler)
  }

  protected async ask({ nc }: Link, subject: string, body: string, timeoutMs: number): Promise<string> {
    return (await nc.request(subject, body, { timeout: timeoutMs })).string()
  }

  /** An answer of JetStream itself: the server may be up while its storage is not. */
  protected async probe({ nc, streams }: Link): Promise<Pick<BrokerHealth, 'version' | 'warnings'>> {
    await (await jetstreamManager(nc, { timeout: answerMs, checkAPI: false })).getAccountInfo()
    return { version: nc.info?.version ?? null, warnings: await streams.warnings() }
  }

  async #dial(): Promise<NatsConnection> {
    const { connection } = this.#options
    try {
      return await connect({
        name: 'punctual',
        maxReconnectAttempts: -1,
        // Credentials that are refused today may be let in tomorrow; responders stay meanwhile.
        ignoreAuthErrorAbort: true,
        reconnectTimeWait: 250,
        // A stack for each request costs more than the request.
        noAsyncTraces: true,
        timeout: answerMs,
        ...connection,
      })
    } catch (error) {
      const { name, message } = error as Error
      const isRefused = /Authori|Authenti|Permission/.test(`${name} ${message}`)
      throw connectError('NATS', String(connection.servers), isRefused, error as Error)
    }
  }

  async #watch({ nc, publisher }: Link): Promise<void> {
    for await (const status of nc.status()) {
      if (status.type === 'reconnect') this.#isUp = true
      else if (status.type === 'disconnect' || status.type === 'staleConnection') {
        this.#isUp = false
        publisher.fail(new Error('the connection was lost before the confirmation'))
      } else if (status.type === 'error' && status.error instanceof PermissionViolationError) publisher.refused(status.error)
    }
    publisher.close()
    // The client has given up; the next call connects anew.
    this.#isUp = false
    this.forget()
  }
}

async function publishOne({ nc, publisher, streams }: Link, message: OutMessage): Promise<PublishResult> {
  const { channel, id, headers = {}, body } = message
  try {
    checkMessage(message)
    const payload = bytesOf(body)
    const most = nc.info?.max_payload ?? Number.POSITIVE_INFINITY
    // Headers count too; they are at most a few kB.
    if (payload.length + 8192 > most)
      return { ok: false, reason: 'too-large', message: `${payload.length} bytes, of at most ${most} with headers` }
    await streams.stream(channel)
    const result = await publisher.publish(channel.name, payload, headersOf(id, headers))
    // The server may have lost the stream.
    if (!result.ok) streams.forget(channel)
    return result
  } catch (error) {
    streams.forget(channel)
    return publishFailure(error)
  }
}

function headersOf(id: string, given: Readonly<Record<string, string>>): MsgHdrs {
  const headers = makeHeaders()
  headers.set('Nats-Msg-Id', id)
  for (const [name, value] of Object.entries(given)) headers.set(name, value)
  return headers
}
