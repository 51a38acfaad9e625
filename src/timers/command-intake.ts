// Commands in: each is acknowledged after the store's commit, put back while the store is away, and terminated when it is poison.
import type { Broker, Channel, Consumer, Delivery } from '../broker/broker.ts'
import { PunctualError } from '../errors.ts'
import type { Logger } from '../model/context.ts'
import { errorText } from '../model/error-record.ts'
import { type Clock, sleep } from '../time/clock.ts'
import { Poison, type Unwrapped, unwrap } from './command.ts'
import type { PoisonBook } from './poison-job.ts'

const firstWaitMs = 250
const longestWaitMs = 5000
/** A command that could not be stored is kept so long before it goes back, so a backlog is not tried at full speed. */
const heldMs = 1000

export interface IntakeOptions {
  readonly broker: Broker
  readonly channel: Channel
  readonly group: string
  readonly maxInFlight: number
  /** The type of a message that names none. */
  readonly defaultType: string
  readonly clock: Clock
  readonly log: Logger
  readonly poison: PoisonBook
  /** Carries a command out. Throws `Poison`, or what the store threw. */
  readonly carryOut: (command: Unwrapped, delivery: Delivery) => Promise<void>
  /** Answers requests. Commands are carried out without it. */
  readonly respond?: () => Promise<Consumer>
  readonly onCritical: (error: PunctualError) => void
  /** Counts that this intake adds to. */
  readonly counters: { received: number; poison: number; retried: number }
}

/** Consumes commands until it is stopped, over outages of the broker. */
export class CommandIntake {
  readonly #options: IntakeOptions
  readonly #stop = new AbortController()
  #consumers: Consumer[] = []
  #starting: Promise<unknown> = Promise.resolve()
  #down: string | null = 'it has not connected yet'
  #isStoring = true

  constructor(options: IntakeOptions) {
    this.#options = options
  }

  /** Why no commands arrive at present; null while they do. */
  get down(): string | null {
    return this.#down
  }

  /** Returns at once: without a broker it waits for one. */
  start(): void {
    const { broker, channel, group, maxInFlight, respond } = this.#options
    const handle = (delivery: Delivery) => this.#handle(delivery)
    this.#starting = Promise.all([
      this.#begin(
        'Commands cannot be consumed',
        () => broker.consume({ channel, group, maxInFlight }, handle),
        (reason) => {
          this.#down = reason
        },
      ),
      respond && this.#begin('Requests cannot be answered', respond),
    ])
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#starting
    await Promise.all(this.#consumers.map((consumer) => consumer.close()))
    this.#down = 'it was stopped'
  }

  /** Tries until a consumer is there. */
  async #begin(fault: string, consume: () => Promise<Consumer>, note: (reason: string | null) => void = () => {}): Promise<void> {
    const { broker, channel, clock, log, onCritical } = this.#options
    const { signal } = this.#stop
    for (let waitMs = firstWaitMs; !signal.aborted; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      try {
        await broker.open()
        this.#consumers.push(await consume())
        return note(null)
      } catch (error) {
        note(errorText(error))
        log.warn(`${fault}; trying again`, { channel: channel.name, error: errorText(error) })
        const isCritical = error instanceof PunctualError && (error.code === 'broker.refused' || error.code === 'broker.invalid')
        if (isCritical) onCritical(error)
        await sleep(clock, waitMs, signal)
      }
    }
  }

  async #handle(delivery: Delivery): Promise<void> {
    const { defaultType, carryOut, counters } = this.#options
    counters.received += 1
    try {
      await carryOut(unwrap(delivery.body, delivery.headers, defaultType), delivery)
    } catch (error) {
      return error instanceof Poison ? this.#terminate(delivery, error.message) : this.#putBack(delivery, error)
    }
    this.#noteStored()
    await delivery.ack()
  }

  async #terminate(delivery: Delivery, reason: string): Promise<void> {
    const { poison, channel, log, counters } = this.#options
    try {
      await poison.keep(delivery, channel.name, reason)
    } catch (error) {
      return this.#putBack(delivery, error)
    }
    this.#noteStored()
    await delivery.terminate(reason)
    counters.poison += 1
    log.error('A command was terminated', { channel: channel.name, messageId: delivery.id, reason })
  }

  /** The store is away, or something else that may pass: the command comes again. An outage is logged once, not with each command. */
  async #putBack(delivery: Delivery, error: unknown): Promise<void> {
    const { channel, clock, log, counters } = this.#options
    counters.retried += 1
    if (this.#isStoring) log.warn('Commands cannot be stored and come again', { channel: channel.name, error: errorText(error) })
    this.#isStoring = false
    await sleep(clock, heldMs, this.#stop.signal)
    await delivery.retry(Math.min(firstWaitMs * 2 ** delivery.attempt, longestWaitMs))
  }

  #noteStored(): void {
    const { channel, log } = this.#options
    if (!this.#isStoring) log.info('Commands are stored again', { channel: channel.name })
    this.#isStoring = true
  }
}
