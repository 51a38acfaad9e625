import { PunctualError } from '../../errors.ts'
import { type Clock, systemClock } from '../../time/clock.ts'
import type {
  Broker,
  BrokerHealth,
  Channel,
  ConsumeOptions,
  Consumer,
  Delivery,
  DeliveryHandler,
  OutMessage,
  PublishResult,
} from '../broker.ts'
import { deadChannel, reasonHeader } from '../broker.ts'
import { bytesOf } from '../bytes-of.ts'
import { checkChannel, checkMessage, headerText } from '../check.ts'
import { handleDelivery } from '../handle-delivery.ts'
import { LocalQueue, type Stored } from './local-queue.ts'

/** The options of `local`. */
export interface LocalOptions {
  /** For tests: see `manualClock` of `punctual/testing`. */
  clock?: Clock
  /** The largest body, in bytes. Default 1 MiB. */
  maxBytes?: number
}

/**
 * A broker in the memory of this process, for tests and for parts of one application. Its messages end with the process.
 * @example const timers = createTimers({ punctual, broker: local() })
 */
export function local(options: LocalOptions = {}): Broker {
  return new LocalBroker(options)
}

const rememberedIds = 100_000

class LocalBroker implements Broker {
  readonly name = 'local'
  readonly #clock: Clock
  readonly #maxBytes: number
  /** By channel, and for a topic by group. */
  readonly #queues = new Map<string, LocalQueue>()
  readonly #groups = new Map<string, Set<string>>()
  readonly #seen = new Set<string>()
  readonly #responders = new Map<string, ((body: string) => Promise<string>)[]>()
  #isClosed = false

  constructor({ clock = systemClock, maxBytes = 1_048_576 }: LocalOptions) {
    this.#clock = clock
    this.#maxBytes = maxBytes
  }

  async open(): Promise<void> {
    if (this.#isClosed) throw new PunctualError('broker.closed', 'This broker was closed; make a new one')
  }

  async publish(messages: readonly OutMessage[]): Promise<readonly PublishResult[]> {
    return messages.map((message) => this.#publish(message))
  }

  #publish(message: OutMessage): PublishResult {
    if (this.#isClosed) return { ok: false, reason: 'unreachable', message: 'the broker was closed' }
    try {
      checkMessage(message)
    } catch (error) {
      return { ok: false, reason: 'refused', message: (error as Error).message }
    }
    const { channel, id, headers = {} } = message
    const body = bytesOf(message.body)
    if (body.length > this.#maxBytes)
      return { ok: false, reason: 'too-large', message: `${body.length} bytes, of at most ${this.#maxBytes}` }
    if (this.#isDuplicate(`${channel.name} ${id}`)) return { ok: true, isDuplicate: true }
    for (const queue of this.#queuesOf(channel)) queue.push({ id, headers, body, attempt: 1 })
    return { ok: true, isDuplicate: false }
  }

  async consume({ channel, group, maxInFlight }: ConsumeOptions, handler: DeliveryHandler): Promise<Consumer> {
    await this.open()
    checkChannel(channel)
    if (channel.kind === 'topic') this.#groupsOf(channel.name).add(group)
    const queue = this.#queue(channel.kind === 'topic' ? `${channel.name} ${group}` : channel.name)
    return queue.consume(maxInFlight, (stored) => handleDelivery(this.#delivery(channel, queue, stored), handler))
  }

  #delivery(channel: Channel, queue: LocalQueue, stored: Stored): Delivery {
    return {
      ...stored,
      ack: async () => {},
      retry: async (afterMs) => {
        this.#clock.timer(afterMs, () => queue.push({ ...stored, attempt: stored.attempt + 1 }))
      },
      terminate: async (reason) => {
        const headers = { ...stored.headers, [reasonHeader]: headerText(reason) }
        this.#queue(deadChannel(channel).name).push({ ...stored, headers, attempt: 1 })
      },
    }
  }

  async respond(subject: string, _group: string, answer: (body: string) => Promise<string>): Promise<Consumer> {
    await this.open()
    const responders = this.#responders.get(subject) ?? []
    this.#responders.set(subject, responders)
    responders.push(answer)
    return { close: async () => void responders.splice(responders.indexOf(answer), 1) }
  }

  async request(subject: string, body: string): Promise<string> {
    await this.open()
    const [answer] = this.#responders.get(subject) ?? []
    if (!answer) throw new PunctualError('broker.unreachable', `No responder answers on ${subject}`, { subject })
    return answer(body)
  }

  async health(): Promise<BrokerHealth> {
    const reason = this.#isClosed ? 'the broker was closed' : null
    return { isOk: !this.#isClosed, reason, version: null, warnings: ['messages end with the process'] }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()))
  }

  #isDuplicate(id: string): boolean {
    if (this.#seen.has(id)) return true
    this.#seen.add(id)
    if (this.#seen.size > rememberedIds) this.#seen.delete(this.#seen.values().next().value as string)
    return false
  }

  #queuesOf({ name, kind }: Channel): LocalQueue[] {
    if (kind === 'queue') return [this.#queue(name)]
    return [...this.#groupsOf(name)].map((group) => this.#queue(`${name} ${group}`))
  }

  #groupsOf(topic: string): Set<string> {
    const groups = this.#groups.get(topic) ?? new Set()
    this.#groups.set(topic, groups)
    return groups
  }

  #queue(name: string): LocalQueue {
    const queue = this.#queues.get(name) ?? new LocalQueue()
    this.#queues.set(name, queue)
    return queue
  }
}
