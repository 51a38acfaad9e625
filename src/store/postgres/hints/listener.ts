import type pg from 'pg'
import { type Clock, sleep, systemClock } from '../../../time/clock.ts'

export interface ListenerOptions {
  readonly channel: string
  readonly clock: Clock
  readonly newClient: () => pg.Client
  readonly onMessage: (payload: string) => void
  /** The connection is back after a break: notifications of the meantime are lost. */
  readonly onReturn: () => void
}

const firstBackoffMs = 100
const longestBackoffMs = 30_000
/** A silent connection may be dead without either end knowing. */
const checkMs = 30_000
/** An answer that takes longer is not waited for. */
const answerMs = 1000

/**
 * A connection that listens on a channel until it is closed, and comes back whenever it breaks. Nothing here ever throws:
 * polls make up for lost notifications.
 */
export class Listener {
  readonly #options: ListenerOptions
  #client: pg.Client | null = null
  #cancelTimer: () => void = () => {}
  #failures = 0
  #isUp = false

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#connect()
  }

  /** Whether the server has confirmed LISTEN, and no break was noticed since. */
  get isUp(): boolean {
    return this.#isUp
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = null
    this.#isUp = false
    this.#cancelTimer()
    if (client) await ended(client)
  }

  #connect(): void {
    const client = this.#options.newClient()
    this.#client = client
    client.on('error', () => this.#lose(client))
    client.on('end', () => this.#lose(client))
    client.on('notification', ({ payload }) => {
      if (this.#client === client) this.#options.onMessage(payload ?? '')
    })
    this.#expect(client, this.#listen(client))
  }

  async #listen(client: pg.Client): Promise<void> {
    await client.connect()
    await client.query(`LISTEN "${this.#options.channel}"`)
    if (this.#client !== client) return
    const wasDown = this.#failures > 0
    this.#failures = 0
    this.#isUp = true
    if (wasDown) this.#options.onReturn()
  }

  /** The answer must have come by the next check, which sends another statement. */
  #expect(client: pg.Client, answer: Promise<unknown>): void {
    const { clock } = this.#options
    let hasCome = false
    const done = answer.then(
      () => {
        hasCome = true
      },
      () => this.#lose(client),
    )
    this.#cancelTimer = clock.poll(checkMs, () => {
      if (hasCome) this.#expect(client, client.query('SELECT 1'))
      else this.#lose(client)
    })
    // A clock that is moved by hand must not run away from an answer that is on its way.
    clock.waitFor?.(within(done, answerMs))
  }

  #lose(client: pg.Client): void {
    if (this.#client !== client) return
    this.#client = null
    this.#isUp = false
    this.#cancelTimer()
    void ended(client)
    const waitMs = Math.min(longestBackoffMs, firstBackoffMs * 2 ** this.#failures)
    this.#failures += 1
    this.#cancelTimer = this.#options.clock.timer(waitMs, () => this.#connect())
  }
}

/** A connection that does not close in time is left behind, and keeps no process alive. */
async function ended(client: pg.Client): Promise<void> {
  await within(client.end(), answerMs)
  // The types of the driver leave it out.
  ;(client as pg.Client & { unref(): void }).unref()
}

/** Waits for `work`, but not for longer than this by the machine's own clock. */
async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const isDone = new AbortController()
  const done = work.catch(() => {}).then(() => isDone.abort())
  await Promise.race([done, sleep(systemClock, ms, isDone.signal)])
}
