// Streams and consumers of JetStream. A stream that covers a channel's subject is used as it is; otherwise one is made.
import {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { nanos, PermissionViolationError } from '@nats-io/transport-node'
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
    const made = this.#jsm.consumers.add(config.name, {
      durable_name: consumer,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(this.#options.ackWaitMs),
      // A group that comes back to a server without data must not miss what was published before it.
      deliver_policy: DeliverPolicy.All,
      filter_subject: channel.name,
      max_ack_pending: 20_000,
      max_deliver: -1,
    })
    await made.catch((error: Error) => {
      throw refusalOf(channel, `Consumer ${consumer} of stream ${config.name}`, error)
    })
    return { stream: config.name, consumer }
  }

  /** Settings of the known streams under which a message can be lost. */
  async warnings(): Promise<string[]> {
    const warnings = new Set<string>()
    for (const found of this.#streams.values()) {
      const info = await found.catch(() => null)
      if (info?.config.storage === StorageType.Memory) warnings.add(`stream ${info.config.name} is kept in memory`)
    }
    return [...warnings]
  }

  async #ensure(channel: Channel): Promise<StreamInfo> {
    try {
      const info = (await this.#find(channel.name)) ?? (await this.#make(channel))
      checkStream(channel, info.config)
      return info
    } catch (error) {
      throw refusalOf(channel, 'The stream', error as Error)
    }
  }

  async #find(subject: string): Promise<StreamInfo | null> {
    for await (const info of this.#jsm.streams.list(subject)) return info
    return null
  }

  /** Another process may make it at the same time, with other settings: the first one counts. */
  async #make(channel: Channel): Promise<StreamInfo> {
    try {
      return await this.#jsm.streams.add(this.#config(channel))
    } catch (error) {
      const found = await this.#find(channel.name)
      if (found) return found
      throw error
    }
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

/** Placement: the servers of a cluster that are missing may come back. */
const noSuitablePeers = 10_005

/** The error of Punctual for the server's error about a stream or a consumer. */
function refusalOf({ name, kind }: Channel, what: string, error: Error): Error {
  const text = `${what} for ${kind} ${name} is refused by NATS: ${error.message}`
  if (isPermissionMissing(error)) return new PunctualError('broker.refused', text, { channel: name }, { cause: error })
  if (!(error instanceof JetStreamApiError) || error.code === noSuitablePeers) return error
  const isInvalid = error.status === 400 || error.message.includes('can not be updated')
  return isInvalid ? new PunctualError('broker.invalid', text, { channel: name }, { cause: error }) : error
}

/** Whether an error is one of rights. The client wraps those of requests. */
export function isPermissionMissing(error: unknown): boolean {
  return error instanceof PermissionViolationError || (error instanceof Error && error.cause instanceof PermissionViolationError)
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
