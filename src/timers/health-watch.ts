// The health of a timer service: its broker, its store and its sides.
import type { Broker, BrokerHealth } from '../broker/broker.ts'
import { unhealthy } from '../broker/remote-broker.ts'
import type { Punctual } from '../client/punctual.ts'
import type { TimersReport, TimersSide } from '../client/timers-overview.ts'
import { PunctualError } from '../errors.ts'
import { errorText } from '../model/error-record.ts'

/** The state of a timer service; a side that does not run here is null. */
export interface TimersHealth {
  readonly isOk: boolean
  readonly broker: BrokerHealth
  readonly store: { readonly isOk: boolean; readonly reasons: readonly string[] }
  readonly commands: TimersSide | null
  readonly firing: TimersSide | null
}

export interface HealthOptions {
  readonly punctual: Punctual
  readonly broker: Broker
  /** Why no commands arrive at present; null while they do. Missing where commands are not handled. */
  readonly commandsDown?: () => string | null
  /** Why no events leave at present; null while they do. Missing where nothing is fired. */
  readonly firingDown?: () => string | null
  readonly onCritical: (error: PunctualError) => void
}

export class HealthWatch {
  readonly #options: HealthOptions
  #last = unhealthy('it has not answered yet')
  #asking: Promise<BrokerHealth> | null = null

  constructor(options: HealthOptions) {
    this.#options = options
  }

  async now(): Promise<TimersHealth> {
    const { state, reasons } = this.#options.punctual.health
    const store = { isOk: state !== 'degraded', reasons }
    const broker = await this.ask()
    const sides = this.#sides(broker)
    const isOk = store.isOk && sides.commands?.isOk !== false && sides.firing?.isOk !== false
    return { isOk, broker, store, ...sides }
  }

  /** The state for a beat. A beat waits for nothing: of the broker it has the answer to the beat before. */
  report(): TimersReport {
    const { isOk, reason, version, warnings } = this.#last
    void this.ask()
    return { broker: { name: this.#options.broker.name, isOk, reason, version, warnings }, ...this.#sides(this.#last) }
  }

  /** Asks the broker. Calls of the same time share one answer. */
  ask(): Promise<BrokerHealth> {
    this.#asking ??= this.#brokerHealth().then((health) => {
      this.#asking = null
      this.#last = health
      return health
    })
    return this.#asking
  }

  #sides(broker: BrokerHealth): Pick<TimersHealth, 'commands' | 'firing'> {
    const { commandsDown, firingDown } = this.#options
    const judge = (down: () => string | null): TimersSide => {
      const reason = down()
      return { isOk: reason === null && broker.isOk, reason: reason ?? broker.reason }
    }
    return { commands: commandsDown ? judge(commandsDown) : null, firing: firingDown ? judge(firingDown) : null }
  }

  async #brokerHealth(): Promise<BrokerHealth> {
    const { broker, onCritical } = this.#options
    try {
      await broker.open()
      return await broker.health()
    } catch (error) {
      if (error instanceof PunctualError && error.code === 'broker.refused') onCritical(error)
      return unhealthy(errorText(error))
    }
  }
}
