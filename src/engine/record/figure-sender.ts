import type { FigureAdd } from '../../store/store.ts'
import type { Env } from '../env.ts'

const gaugeEveryMs = 15 * 60_000

/** Sends the figures of this process to the store, and counts its rows. They are only figures: a failure costs nothing but time. */
export class FigureSender {
  readonly #env: Env
  /** Figures whose arrival is not certain: they are sent again under the same id. */
  #unsent: FigureAdd | null = null
  #sends = 0
  #sending: Promise<void> | null = null
  #gauge = { text: '', at: 0 }

  constructor(env: Env) {
    this.#env = env
  }

  /** One call at a time: figures that come up meanwhile go with the next. */
  send(boot: string): Promise<void> {
    this.#sending ??= this.#sendAll(boot).finally(() => {
      this.#sending = null
    })
    return this.#sending
  }

  async sendLast(boot: string): Promise<void> {
    await this.#sending
    await this.send(boot)
  }

  async #sendAll(boot: string): Promise<void> {
    const { store, figures } = this.#env
    for (let isMore = true; isMore; ) {
      this.#unsent ??= { id: `${boot} ${++this.#sends}`, rows: figures.take() }
      isMore = figures.isFull
      try {
        if (this.#unsent.rows.length > 0) await store.figures(this.#unsent)
        this.#unsent = null
      } catch {
        return
      }
    }
  }

  /** Counts the work in the store. While nothing changes, once in a quarter of an hour is enough. */
  async takeGauge(): Promise<void> {
    const { store, time, figures } = this.#env
    const now = time.now()
    const { states } = await store.counts({})
    const [oldest] = await store.listDue({ to: now, limit: 1 })
    const { pending, waiting, running, retrying, dead } = states
    const gauge = { pending, waiting, running, retrying, dead, oldestDueMs: oldest ? now - oldest.dueAt : 0 }
    const text = JSON.stringify(gauge)
    if (text === this.#gauge.text && now - this.#gauge.at < gaugeEveryMs) return
    this.#gauge = { text, at: now }
    figures.gauge(now, gauge)
  }
}
