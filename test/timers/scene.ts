import { onTestFinished } from 'vitest'
import type { Broker, Delivery, OutMessage, PublishResult } from '../../src/broker/broker.ts'
import { local } from '../../src/broker/local/index.ts'
import type { PunctualOptions } from '../../src/client/options.ts'
import { createPunctual, type Punctual } from '../../src/client/punctual.ts'
import { memory } from '../../src/store/memory/index.ts'
import type { Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { createTimers, type Timers, type TimersOptions } from '../../src/timers/timers.ts'

const start = '2026-11-18T03:00:00.000Z'

/** A broker whose server can be away. */
export class FlakyBroker implements Broker {
  readonly #inner: Broker
  readonly name = 'flaky'
  isAway = false
  publishes = 0
  /** Is healthy, and takes no message all the same. */
  looksWell = false
  /** Refuses to answer requests. */
  isSilent = false
  /** Instead of `unreachable`. */
  failure: 'unreachable' | 'unroutable' | 'refused' = 'unreachable'

  constructor(inner: Broker) {
    this.#inner = inner
  }

  open = () => this.#inner.open()
  consume: Broker['consume'] = (options, handler) => this.#inner.consume(options, handler)
  respond: Broker['respond'] = async (subject, group, answer) => {
    if (this.isSilent) throw new Error('on purpose')
    return this.#inner.respond(subject, group, answer)
  }
  request: Broker['request'] = (subject, body, timeoutMs) => this.#inner.request(subject, body, timeoutMs)
  close = () => this.#inner.close()

  async publish(messages: readonly OutMessage[]): Promise<readonly PublishResult[]> {
    this.publishes += messages.length
    if (!this.isAway) return this.#inner.publish(messages)
    return messages.map(() => ({ ok: false, reason: this.failure, message: 'on purpose' }) as const)
  }

  async health() {
    const health = await this.#inner.health()
    return this.isAway && !this.looksWell ? { ...health, isOk: false, reason: 'on purpose' } : health
  }
}

export interface Received {
  readonly delivery: Delivery
  readonly json: any
}

/** A timer service on the memory store, the local broker and the manual clock. */
export class TimersScene {
  readonly clock: ManualClock = manualClock(start)
  readonly broker = new FlakyBroker(local({ clock: this.clock }))
  readonly punctual: Punctual
  readonly timers: Timers
  readonly events: Received[] = []
  readonly dead: Received[] = []

  static async open(
    options: Partial<TimersOptions> = {},
    { store = memory(), ...more }: Partial<PunctualOptions> = {},
  ): Promise<TimersScene> {
    const scene = new TimersScene(options, { store, ...more })
    onTestFinished(() => scene.close())
    await scene.#listen('timers.events', 'topic', scene.events)
    await scene.#listen('timers.commands.dead', 'queue', scene.dead)
    await scene.punctual.start()
    scene.timers.start()
    await scene.settle()
    return scene
  }

  private constructor(options: Partial<TimersOptions>, more: Partial<PunctualOptions> & { store: Store }) {
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    this.punctual = createPunctual({ clock: this.clock, log, concurrency: 100, ...more })
    this.timers = createTimers({ punctual: this.punctual, broker: this.broker, ...options })
  }

  async #listen(name: string, kind: 'queue' | 'topic', into: Received[]): Promise<void> {
    await this.broker.consume({ channel: { name, kind }, group: 'scene', maxInFlight: 1000 }, async (delivery) => {
      const text = new TextDecoder().decode(delivery.body)
      into.push({ delivery, json: kind === 'topic' ? JSON.parse(text) : text })
      await delivery.ack()
    })
  }

  /** Lets everything happen that happens now. */
  settle(): Promise<void> {
    return this.clock.advance(0)
  }

  /** Sends a command, and waits until it was handled. */
  async send(command: object | string, id = `m-${Math.random()}`): Promise<void> {
    const body = typeof command === 'string' ? command : JSON.stringify(command)
    await this.broker.publish([{ channel: { name: 'timers.commands', kind: 'queue' }, id, body }])
    await this.settle()
  }

  /** Sends commands in one burst, and waits until they were handled. */
  async sendTogether(...messages: readonly object[]): Promise<void> {
    const channel = { name: 'timers.commands', kind: 'queue' as const }
    await this.broker.publish(messages.map((message) => ({ channel, id: `m-${Math.random()}`, body: JSON.stringify(message) })))
    await this.settle()
  }

  schedule(serviceCallId: string, inMs: number, more: object = {}): Promise<void> {
    const dueAt = new Date(this.clock.wall() + inMs).toISOString()
    return this.send({ type: 'ScheduleTimer', tenantId: 'acme', serviceCallId, dueAt, ...more })
  }

  get firedIds(): string[] {
    return this.events.map(({ json }) => json.payload.serviceCallId)
  }

  async close(): Promise<void> {
    await this.timers.stop()
    await this.punctual.close()
    await this.broker.close()
  }
}
