// The contract between Punctual and every message broker. Delivery is at least once in both directions: a consumer must tolerate
// duplicates. A broker carries messages and keeps no schedule; the store is the truth.

/**
 * A place that messages go to. Of a `queue` each message goes to one consumer and stays until that has acknowledged it; of a `topic`
 * each group of consumers gets every message.
 */
export interface Channel {
  /** Parts of letters, digits, `_` and `-`, joined by dots; at most 100 characters. */
  readonly name: string
  readonly kind: 'queue' | 'topic'
}

/** A message to publish. */
export interface OutMessage {
  readonly channel: Channel
  /** The same for every repetition, so brokers and consumers can drop duplicates. */
  readonly id: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/**
 * Why a message was not accepted. `unreachable`: no answer, so the message may have arrived. `unroutable`: no queue takes it. `full`: the
 * broker has no room. These can succeed later; `too-large` and `refused` cannot.
 */
export type PublishFailure = 'unreachable' | 'unroutable' | 'full' | 'too-large' | 'refused'

/** `ok`: the broker has the message, by its own measure of durability. */
export type PublishResult =
  | { readonly ok: true; readonly isDuplicate: boolean }
  | { readonly ok: false; readonly reason: PublishFailure; readonly message: string }

/** Whether publishing the same message later may succeed. */
export function isTransientFailure(reason: PublishFailure): boolean {
  return reason === 'unreachable' || reason === 'unroutable' || reason === 'full'
}

/** A received message. It is answered once: by `ack`, `retry` or `terminate`. */
export interface Delivery {
  /** The publisher's id, where there is one. */
  readonly id: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** 1 for the first delivery. */
  readonly attempt: number
  /** Removes the message. */
  ack(): Promise<void>
  /** Delivers the message again, not before `afterMs`; other messages overtake it. */
  retry(afterMs: number): Promise<void>
  /** Moves the message to the channel's dead letters (`deadChannel`), with the reason, percent-encoded, as header `punctual-reason`. */
  terminate(reason: string): Promise<void>
}

/** The options of `consume`. */
export interface ConsumeOptions {
  readonly channel: Channel
  /** Consumers of one group share the messages. */
  readonly group: string
  /** Deliveries that are handled at once. */
  readonly maxInFlight: number
}

/** Handles one delivery. One that throws has its message delivered again, later each time. */
export type DeliveryHandler = (delivery: Delivery) => Promise<void>

/** A running consumer. */
export interface Consumer {
  /** Takes no further message, and waits for those that are being handled. */
  close(): Promise<void>
}

/** The state of a broker, as one call found it. */
export interface BrokerHealth {
  readonly isOk: boolean
  /** Why it is not ok. */
  readonly reason: string | null
  readonly version: string | null
  /** Settings under which messages may be lost: for example a stream in memory. */
  readonly warnings: readonly string[]
}

/** The contract of every broker. */
export interface Broker {
  readonly name: string
  /**
   * Connects. Throws `broker.unreachable` while there is no broker, and `broker.refused` for wrong credentials; may be called again after
   * either. Once connected, the adapter reconnects by itself.
   */
  open(): Promise<void>
  /** Publishes messages, each with its own result; never throws. Makes the channels that do not exist yet. */
  publish(messages: readonly OutMessage[]): Promise<readonly PublishResult[]>
  /** Consumes until closed, over reconnects and a broker that has lost its data. Throws like `open`. */
  consume(options: ConsumeOptions, handler: DeliveryHandler): Promise<Consumer>
  /** Answers requests on a subject, shared by the members of a group; nothing of it is stored. Throws like `open`. */
  respond(subject: string, group: string, answer: (body: string) => Promise<string>): Promise<Consumer>
  /** Sends a request and returns the answer. Throws `broker.unreachable` when none comes in time. */
  request(subject: string, body: string, timeoutMs: number): Promise<string>
  health(): Promise<BrokerHealth>
  close(): Promise<void>
}

/** Where terminated messages of a channel go. */
export function deadChannel({ name }: Channel): Channel {
  return { name: `${name}.dead`, kind: 'queue' }
}

/** The header with the reason of a terminated message. */
export const reasonHeader = 'punctual-reason'
