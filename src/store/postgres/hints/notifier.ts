// Hints: at once within the process, and by notifications to other processes.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { type Clock, systemClock } from '../../../time/clock.ts'
import type { Hint } from '../../store.ts'
import type { Context } from '../context.ts'
import { Listener as Connection } from './listener.ts'

type Listener = (hint: Hint) => void

/** The next notification. */
interface Gathered {
  due: number | null
  /** The nodes that run something that was canceled. */
  cancel: readonly string[]
  job: boolean
}

const nothing: Gathered = { due: null, cancel: [], job: false }

/** Nodes poll at least so often: work that is due later needs no notification. */
const soonMs = 5000
const connectMs = 5000

/** A commit that brings its notification along spares a round trip, while there is little to send: see `notify`. */
const quietMs = 10
/** One that took so long may have waited for others that bring one along. */
const slowMs = 20
const restMs = 1000

// A commit with a notification holds a lock that all others with one wait for: hence in a separate commit, which does not wait
// for the disk, since nothing in it has to last.
const notify = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`

/** A message to other processes. */
export interface Notification {
  readonly channel: string
  readonly payload: string
}

export class Notifier {
  readonly #context: Context
  readonly #listenUrl: string | false | undefined
  readonly channel: string
  /** By this a process knows its own notifications, which it has delivered already. */
  readonly #me = randomBytes(6).toString('base64url')
  readonly #listeners = new Set<Listener>()
  #clock: Clock = systemClock
  #isStarted = false
  #connection: Connection | null = null
  #closing: Promise<unknown> = Promise.resolve()
  #gathered: Gathered | null = null
  #notifying: Promise<void> | null = null
  /** From when on a commit may bring its notification along. */
  #alongFrom = Number.NEGATIVE_INFINITY

  /** `listenUrl`: where to listen, if not where the statements go; false for no hints from or to other processes. */
  constructor(context: Context, listenUrl: string | false | undefined) {
    this.#context = context
    this.#listenUrl = listenUrl
    this.channel = `punctual_${context.db.schema}`
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    this.#listen()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#hangUp()
    }
  }

  get isLive(): boolean {
    return this.#connection?.isUp ?? false
  }

  start(clock: Clock = systemClock): void {
    this.#clock = clock
    this.#isStarted = true
    this.#listen()
  }

  async stop(): Promise<void> {
    this.#isStarted = false
    this.#hangUp()
    await Promise.all([this.#closing, this.#notifying])
  }

  /** Sends hints to the listeners in this process. */
  send(hints: readonly Hint[]): void {
    for (const hint of hints) for (const listener of this.#listeners) listener(hint)
  }

  /** The notification that a commit with work due at `dueAt` may bring along; null if it should not. */
  along(dueAt: number): Notification | null {
    if (this.#listenUrl === false || !this.#isStarted || !this.#isSoon(dueAt)) return null
    if (this.#notifying || this.#clock.mono() < this.#alongFrom) return null
    return this.#notification({ ...nothing, due: dueAt })
  }

  /** A notification was brought along by a commit that took so long. */
  wentAlong(tookMs: number): void {
    this.#alongFrom = this.#clock.mono() + (tookMs > slowMs ? restMs : quietMs)
  }

  /** Sends hints to this and to other processes. */
  announce(hints: readonly Hint[]): void {
    this.send(hints)
    this.sendToOthers(hints)
  }

  /** Sends hints to other processes. Their cause must be committed: listeners read it at once. */
  sendToOthers(hints: readonly Hint[]): void {
    if (this.#listenUrl === false || !this.#isStarted) return
    for (const hint of hints) this.#gather(hint)
    if (this.#gathered && !this.#notifying) {
      this.#notifying = this.#notifyAll()
      this.#clock.waitFor?.(this.#notifying)
    }
  }

  /** The same as `announce`, and waits until it is sent. */
  async announceNow(hints: readonly Hint[]): Promise<void> {
    this.send(hints)
    if (this.#listenUrl === false || !this.#isStarted) return
    await this.#notify(hints.reduce(withHint, nothing))
  }

  #gather(hint: Hint): void {
    if (hint.kind === 'due' && !this.#isSoon(hint.at)) return
    this.#gathered = withHint(this.#gathered ?? nothing, hint)
  }

  /** One at a time: hints that gather meanwhile go together. */
  async #notifyAll(): Promise<void> {
    for (let gathered = this.#take(); gathered; gathered = this.#take()) await this.#notify(gathered)
    this.#notifying = null
  }

  async #notify(gathered: Gathered): Promise<void> {
    const { channel, payload } = this.#notification(gathered)
    try {
      await this.#context.db.rows(notify, [channel, payload])
    } catch {
      // A hint is worth no error: other processes poll.
    }
    this.#alongFrom = Math.max(this.#alongFrom, this.#clock.mono() + quietMs)
  }

  #notification(gathered: Gathered): Notification {
    return { channel: this.channel, payload: JSON.stringify({ by: this.#me, ...gathered }) }
  }

  #isSoon(dueAt: number): boolean {
    return dueAt <= this.#context.guessNow() + soonMs
  }

  #take(): Gathered | null {
    const gathered = this.#gathered
    this.#gathered = null
    return gathered
  }

  #listen(): void {
    if (this.#connection || !this.#isStarted || this.#listeners.size === 0 || this.#listenUrl === false) return
    this.#connection = new Connection({
      channel: this.channel,
      clock: this.#clock,
      newClient: () => this.#newClient(),
      onMessage: (payload) => this.#receive(payload),
      onReturn: () => this.send([{ kind: 'due', at: this.#context.guessNow() }, { kind: 'job' }]),
    })
  }

  #newClient(): pg.Client {
    if (!this.#listenUrl) return new pg.Client(this.#context.db.connectionOptions)
    return new pg.Client({
      connectionString: this.#listenUrl,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      application_name: 'punctual',
    })
  }

  #hangUp(): void {
    const line = this.#connection
    this.#connection = null
    if (line) this.#closing = Promise.all([this.#closing, line.close()])
  }

  #receive(payload: string): void {
    const { by, due, cancel, job } = parsed(payload)
    if (by === this.#me) return
    if (typeof due === 'number') this.send([{ kind: 'due', at: due }])
    if (Array.isArray(cancel)) this.send(cancel.map((node) => ({ kind: 'cancel', node: String(node) })))
    if (job === true) this.send([{ kind: 'job' }])
  }
}

function withHint(gathered: Gathered, hint: Hint): Gathered {
  if (hint.kind === 'due') return { ...gathered, due: Math.min(gathered.due ?? hint.at, hint.at) }
  if (hint.kind === 'job') return { ...gathered, job: true }
  return { ...gathered, cancel: [...new Set([...gathered.cancel, hint.node])] }
}

/** Anybody may write to a channel. */
function parsed(payload: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(payload)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
