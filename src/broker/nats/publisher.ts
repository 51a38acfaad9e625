// Publishes to JetStream and waits for the server's confirmations. They all come to one subscription, which costs half of a request each.
import { JetStreamApiError } from '@nats-io/jetstream'
import { createInbox, type Msg, type MsgHdrs, type NatsConnection, type PermissionViolationError } from '@nats-io/transport-node'
import { systemClock } from '../../time/clock.ts'
import type { PublishResult } from '../broker.ts'
import { publishFailure } from './publish-failure.ts'

interface Waiting {
  readonly subject: string
  readonly until: number
  readonly resolve: (result: PublishResult) => void
}

interface Confirmation {
  readonly duplicate?: boolean
  readonly error?: ConstructorParameters<typeof JetStreamApiError>[0]
}

export class Publisher {
  readonly #connection: NatsConnection
  readonly #answerMs: number
  readonly #inbox: string
  /** In the order in which they were sent. */
  readonly #waiting = new Map<string, Waiting>()
  #sent = 0
  #cancelSweep: (() => void) | null = null

  constructor(connection: NatsConnection, { answerMs, inboxPrefix }: { answerMs: number; inboxPrefix: string | undefined }) {
    this.#connection = connection
    this.#answerMs = answerMs
    this.#inbox = `${createInbox(inboxPrefix)}.`
    connection.subscribe(`${this.#inbox}*`, {
      callback: (error, message) => (error ? this.fail(error) : this.#answered(message)),
    })
  }

  /** Resolves with what the server says, or when it has said nothing for too long. Throws where the client refuses the message. */
  publish(subject: string, body: Uint8Array, headers: MsgHdrs): Promise<PublishResult> {
    const token = String(++this.#sent)
    this.#connection.publish(subject, body, { reply: this.#inbox + token, headers })
    return new Promise((resolve) => {
      this.#waiting.set(token, { subject, until: systemClock.mono() + this.#answerMs, resolve })
      this.#cancelSweep ??= systemClock.timer(this.#answerMs, () => this.#sweep())
    })
  }

  /** Ends the wait for messages whose confirmations can no longer come; of one subject, or of all. */
  fail(error: Error, subject?: string): void {
    for (const [token, waiting] of this.#waiting)
      if (subject === undefined || waiting.subject === subject) this.#end(token, error)
  }

  /** A client without the right to publish gets no answer, but an error of the connection. */
  refused(error: PermissionViolationError): void {
    if (error.operation === 'publish') this.fail(error, error.subject)
  }

  close(): void {
    this.fail(new Error('the connection was closed'))
    this.#cancelSweep?.()
  }

  #answered(message: Msg): void {
    const token = message.subject.slice(this.#inbox.length)
    if (message.data.length === 0) return this.#end(token, new Error('no stream takes the message'))
    const { error, duplicate = false } = message.json<Confirmation>()
    if (error) return this.#end(token, new JetStreamApiError(error))
    this.#take(token)?.resolve({ ok: true, isDuplicate: duplicate })
  }

  #end(token: string, error: Error): void {
    this.#take(token)?.resolve(publishFailure(error))
  }

  #take(token: string): Waiting | undefined {
    const waiting = this.#waiting.get(token)
    this.#waiting.delete(token)
    return waiting
  }

  /** One timer serves all. */
  #sweep(): void {
    this.#cancelSweep = null
    const now = systemClock.mono()
    for (const [token, { until }] of this.#waiting) {
      if (until > now) {
        this.#cancelSweep = systemClock.timer(until - now, () => this.#sweep())
        return
      }
      this.#end(token, new Error(`no confirmation within ${this.#answerMs} ms`))
    }
  }
}
