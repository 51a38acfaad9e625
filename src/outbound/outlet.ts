// The way out to a broker. While the broker is away the work that needs it is not claimed: it stays due, and no retry is counted.
import type { Broker, OutMessage, PublishFailure, PublishResult } from '../broker/broker.ts'
import { isTransientFailure } from '../broker/broker.ts'
import type { BuiltIn } from '../client/built-in.ts'
import { errorText } from '../model/error-record.ts'
import { Untried } from '../model/untried.ts'

const firstProbeMs = 250
const longestProbeMs = 5000
/** Where the broker is well and takes no message all the same: each probe claims work that goes back. */
const longestTrialMs = 60_000

export interface OutletOptions {
  /** The failures after which nothing more is tried until the broker is well; others of a passing kind count as failed attempts. */
  readonly closesOn: readonly PublishFailure[]
  /** Called each time it closes. */
  readonly onClosed?: (reason: PublishFailure, message: string) => void
}

interface Waiting {
  readonly message: OutMessage
  readonly settle: (result: PublishResult) => void
}

/** A message that the broker will not take, however often it is sent. */
class MessageRefused extends Error {
  override readonly name = 'MessageRefused'
  readonly retryable = false
}

/** Publishes the messages of a built-in job, those of the same moment in one call, and holds the job while the broker is away. */
export class Outlet {
  readonly #broker: Broker
  readonly #options: OutletOptions
  readonly #job: () => BuiltIn
  #waiting: Waiting[] = []
  #isArmed = false
  #away: { readonly reason: string; readonly since: number } | null = null
  /** After an outage one message goes first, and the others wait for its result: a broker may take a part of them and refuse all. */
  #isOnTrial = false
  #trial: Promise<void> | null = null
  #probeMs = firstProbeMs
  #cancelProbe: (() => void) | null = null
  #isClosed = false

  constructor(broker: Broker, job: () => BuiltIn, options: OutletOptions) {
    this.#broker = broker
    this.#job = job
    this.#options = options
  }

  /** Why nothing is sent at present, and since when; null while all is well. */
  get away(): { readonly reason: string; readonly since: number } | null {
    return this.#away
  }

  /** Resolves when the broker has the message. Throws `Untried` while the broker is away, and else an error of the attempt. */
  async send(message: OutMessage): Promise<{ readonly isDuplicate: boolean }> {
    if (this.#trial) await this.#trial
    if (this.#away) throw new Untried(this.#away.reason)
    const sent = this.#send(message)
    if (this.#isOnTrial) {
      this.#isOnTrial = false
      const done = () => {
        this.#trial = null
      }
      this.#trial = sent.then(done, done)
    }
    return sent
  }

  stop(): void {
    this.#isClosed = true
    this.#cancelProbe?.()
  }

  async #send(message: OutMessage): Promise<{ readonly isDuplicate: boolean }> {
    const result = await new Promise<PublishResult>((settle) => this.#add({ message, settle }))
    if (result.ok) {
      this.#probeMs = firstProbeMs
      return result
    }
    if (this.#options.closesOn.includes(result.reason)) {
      this.#close(result.reason, result.message)
      throw new Untried(result.message)
    }
    const text = `The broker did not take the message (${result.reason}): ${result.message}`
    throw isTransientFailure(result.reason) ? new Error(text) : new MessageRefused(text)
  }

  #add(waiting: Waiting): void {
    this.#waiting.push(waiting)
    if (this.#isArmed) return
    this.#isArmed = true
    this.#job().clock.soon(() => {
      this.#isArmed = false
      void this.#flush(this.#waiting.splice(0))
    })
  }

  async #flush(waiting: readonly Waiting[]): Promise<void> {
    const results = await this.#broker
      .publish(waiting.map(({ message }) => message))
      .catch((error: unknown) => waiting.map(() => ({ ok: false, reason: 'unreachable', message: errorText(error) }) as const))
    for (const [at, { settle }] of waiting.entries()) settle(results[at] as PublishResult)
  }

  #close(failure: PublishFailure, message: string): void {
    if (this.#away || this.#isClosed) return
    const job = this.#job()
    const reason = `${failure}: ${message}`
    this.#away = { reason, since: job.now() }
    job.hold()
    job.log.warn('The broker takes no messages; due work waits', { broker: this.#broker.name, reason })
    this.#probeLater(failure === 'unreachable' ? longestProbeMs : longestTrialMs)
    this.#options.onClosed?.(failure, message)
  }

  /** The wait grows until a message gets through, so a broker that only looks well is not tried at full speed. */
  #probeLater(longestMs = longestProbeMs): void {
    const ms = Math.min(this.#probeMs, longestMs)
    this.#probeMs = Math.min(ms * 2, longestMs)
    this.#cancelProbe = this.#job().clock.timer(ms, () => void this.#probe())
  }

  async #probe(): Promise<void> {
    const health = await this.#broker.health().catch((error: unknown) => ({ isOk: false, reason: errorText(error) }))
    if (this.#isClosed) return
    if (!health.isOk) return this.#probeLater()
    const job = this.#job()
    const awayMs = job.now() - (this.#away?.since ?? 0)
    this.#away = null
    this.#isOnTrial = true
    job.log.info('The broker is back', { broker: this.#broker.name, awayMs })
    job.unhold()
  }
}
