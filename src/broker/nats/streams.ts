// Streams and consumers of JetStream. A stream that covers a channel's subject is used as it is; otherwise one is made.
import {
  AckPolicy,
  DeliverPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { PunctualError } from '../../errors.ts'
import type { Channel } from '../broker.ts'
import type { ParsedNatsOptions } from './options.ts'

/** The consumers of a queue share one position. */
const queueConsumer = 'workers'

export class Streams {
  readonly #jsm: JetStreamManager
  readonly #options: ParsedNatsOptions
  readonly #streams = new Map<string, Promise<StreamInfo>>()

  constructor(jsm: JetStreamManager, options: ParsedNatsOptions) {
    this.#jsm = jsm
    this.#options = options
  }

  /** The stream that keeps a channel's messages, made where there is none. */
  stream(channel: Channel): Promise<StreamInfo> {
    const known = this.#streams.get(channel.name)
    if (known) return known
    const found = this.#ensure(channel)
    this.#streams.set(channel.name, found)
    found.catch(() => this.forget(channel))
    return found
  }

  /** Looks again next time: the server may have lost the stream. */
  forget({ name }: Channel): void {
    this.#streams.delete(name)
  }

  /** The names of a stream and of its durable consumer, both made where they are missing. */
  async consumer(channel: Channel, group: string): Promise<{ readonly stream: string; readonly consumer: string }> {
    const { config } = await this.stream(channel)
    const consumer = channel.kind === 'queue' ? queueConsumer : group
    await this.#jsm.consumers.add(config.name, {
      durable_name: consumer,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(this.#options.ackWaitMs),
      // A group that comes back to a server without data must not miss what was published before it.
      deliver_policy: DeliverPolicy.All,
      filter_subject: channel.name,
      max_ack_pending: 20_000,
      max_deliver: -1,
    })
    return { stream: config.name, consumer }
  }

  /** Settings of the known streams under which a message can be lost. */
  async warnings(): Promise<string[]> {
    const warnings: string[] = []
    for (const found of this.#streams.values()) {
      const info = await found.catch(() => null)
      if (info?.config.storage === StorageType.Memory) warnings.push(`stream ${info.config.name} is kept in memory`)
    }
    return warnings
  }

  async #ensure(channel: Channel): Promise<StreamInfo> {
    const found = await this.#find(channel.name)
    const info = found ?? (await this.#jsm.streams.add(this.#config(channel)))
    checkStream(channel, info.config)
    return info
  }

  async #find(subject: string): Promise<StreamInfo | null> {
    for await (const info of this.#jsm.streams.list(subject)) return info
    return null
  }

  #config({ name, kind }: Channel): Partial<StreamConfig> & { name: string } {
    const { replicas, duplicateWindowMs, retentionMs } = this.#options
    const isQueue = kind === 'queue'
    return {
      name: name.replaceAll('.', '_'),
      subjects: [name],
      retention: isQueue ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
      storage: StorageType.File,
      num_replicas: replicas,
      // The server refuses a window that is longer than the messages are kept.
      duplicate_window: nanos(isQueue ? duplicateWindowMs : Math.min(duplicateWindowMs, retentionMs)),
      ...(!isQueue && { max_age: nanos(retentionMs) }),
    }
  }
}

function checkStream({ name, kind }: Channel, config: StreamConfig): void {
  const refuse = (why: string, what: string) => {
    const details = { channel: name, stream: config.name }
    throw new PunctualError('broker.invalid', `Stream ${config.name} cannot carry ${kind} ${name}: ${why}. ${what}`, details)
  }
  if (config.no_ack) refuse('it acknowledges nothing', 'Set no_ack to false')
  if (kind === 'topic' && config.retention === RetentionPolicy.Workqueue)
    refuse('each of its messages goes to one consumer only', 'Use a stream with limits retention')
  if (kind === 'queue' && config.retention === RetentionPolicy.Interest)
    refuse('it drops what no consumer waits for', 'Use a stream with work-queue retention')
}
