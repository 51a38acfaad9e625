import type { Logger } from '../../model/context.ts'
import type { Health } from '../../model/events.ts'
import type { Clock } from '../../time/clock.ts'
import type { Env } from '../env.ts'
import { Loop, type LoopOptions } from '../loops/loop.ts'
import type { Bus } from './bus.ts'
import { isTransient } from './transient.ts'

interface Trouble {
  readonly message: string
  /** The store does not answer; otherwise the loop itself failed. */
  readonly isOutage: boolean
}

/**
 * Which loops are in trouble, and so how the node is. An outage of the store is logged once at its begin and once at its end, however
 * many loops meet it; any other failure once for each loop and message.
 */
export class HealthBook {
  readonly #events: Bus
  readonly #log: Logger
  readonly #clock: Clock
  readonly #troubles = new Map<string, Trouble>()
  #outageSince: number | null = null

  constructor({ events, log, clock }: { events: Bus; log: Logger; clock: Clock }) {
    this.#events = events
    this.#log = log
    this.#clock = clock
  }

  get health(): Health {
    const reasons = [...this.#troubles].map(([loop, { message }]) => `${loop}: ${message}`)
    return { state: reasons.length > 0 ? 'degraded' : 'ok', reasons }
  }

  /** A loop whose failures and recoveries are noted here. */
  loop({ clock, random, events }: Env, name: string, runOnce: LoopOptions['runOnce']): Loop {
    const onOk = () => this.recovered(name)
    const onError = (error: Error, retryInMs: number) => {
      events.emit('loop.error', { loop: name, error, retryInMs })
      this.trouble(name, error)
    }
    return new Loop({ name, clock, random, runOnce, onOk, onError })
  }

  trouble(loop: string, error: Error): void {
    const { message } = error
    const before = this.#troubles.get(loop)
    const wasWell = this.#troubles.size === 0
    const isOutage = isTransient(error)
    this.#troubles.set(loop, { message, isOutage })
    if (isOutage) this.#beginOutage(error)
    else if (before?.message !== message)
      this.#log.error(`The ${loop} loop failed and tries again`, { error: message, stack: error.stack })
    if (wasWell) this.#events.emit('health.changed', this.health)
  }

  recovered(loop: string): void {
    if (!this.#troubles.delete(loop)) return
    if (!this.#troubles.values().some(({ isOutage }) => isOutage)) this.#endOutage()
    if (this.#troubles.size === 0) this.#events.emit('health.changed', this.health)
  }

  forget(): void {
    this.#troubles.clear()
    this.#outageSince = null
  }

  #beginOutage({ message }: Error): void {
    if (this.#outageSince !== null) return
    this.#outageSince = this.#clock.mono()
    this.#log.error('The store does not answer; this node keeps trying', { error: message })
  }

  #endOutage(): void {
    if (this.#outageSince === null) return
    const lastedMs = Math.round(this.#clock.mono() - this.#outageSince)
    this.#outageSince = null
    this.#log.warn('The store answers again', { lastedMs })
  }
}
