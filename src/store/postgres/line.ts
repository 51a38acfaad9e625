import type pg from 'pg'
import { type Clock, sleep, systemClock } from '../../time/clock.ts'

export interface LineOptions {
  readonly channel: string
  readonly clock: Clock
  readonly newClient: () => pg.Client
  readonly onMessage: (payload: string) => void
  /** The line stands again after it was down: what was said meanwhile is lost. */
  readonly onReturn: () => void
}

const firstBackoffMs = 100
const longestBackoffMs = 30_000
/** A line that nobody speaks on may be dead without either end knowing. */
const checkMs = 30_000
const closeMs = 1000

/**
 * A connection that listens on a channel until it is closed, and comes back whenever it breaks. Nothing here ever throws: who
 * hears nothing finds out by looking.
 */
export class Line {
  readonly #options: LineOptions
  #client: pg.Client | null = null
  #cancelTimer: () => void = () => {}
  #failures = 0

  constructor(options: LineOptions) {
    this.#options = options
    this.#connect()
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = null
    this.#cancelTimer()
    if (client) await ended(client)
  }

  #connect(): void {
    const { clock, newClient } = this.#options
    const client = newClient()
    this.#client = client
    client.on('error', () => this.#lose(client))
    client.on('end', () => this.#lose(client))
    client.on('notification', ({ payload }) => {
      if (this.#client === client) this.#options.onMessage(payload ?? '')
    })
    const listening = this.#listen(client).catch(() => this.#lose(client))
    clock.waitFor?.(listening)
  }

  async #listen(client: pg.Client): Promise<void> {
    await client.connect()
    await client.query(`LISTEN "${this.#options.channel}"`)
    if (this.#client !== client) return
    const wasDown = this.#failures > 0
    this.#failures = 0
    this.#checkLater(client)
    if (wasDown) this.#options.onReturn()
  }

  #checkLater(client: pg.Client, isAnswered = () => true): void {
    const { clock } = this.#options
    this.#cancelTimer = clock.poll(checkMs, () => {
      if (!isAnswered()) return this.#lose(client)
      let hasAnswer = false
      const answer = client.query('SELECT 1').then(
        () => {
          hasAnswer = true
        },
        () => this.#lose(client),
      )
      clock.waitFor?.(answer)
      this.#checkLater(client, () => hasAnswer)
    })
  }

  #lose(client: pg.Client): void {
    if (this.#client !== client) return
    this.#client = null
    this.#cancelTimer()
    void ended(client)
    const waitMs = Math.min(longestBackoffMs, firstBackoffMs * 2 ** this.#failures)
    this.#failures += 1
    this.#cancelTimer = this.#options.clock.timer(waitMs, () => this.#connect())
  }
}

/** Whoever does not say goodbye in time is left behind, and keeps no process alive. */
async function ended(client: pg.Client): Promise<void> {
  const end = client.end().catch(() => {})
  const tooLong = new AbortController()
  await Promise.race([end.finally(() => tooLong.abort()), sleep(systemClock, closeMs, tooLong.signal)])
  // The types of the driver leave it out.
  ;(client as pg.Client & { unref(): void }).unref()
}
