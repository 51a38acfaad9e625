import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import type { ClientEnv } from '../../client/client-env.ts'
import { type Level, Levels } from '../../client/metrics/levels.ts'
import { measure } from '../../client/metrics/measure.ts'
import type { Punctual } from '../../client/punctual.ts'
import { schedulerEnv } from '../../client/scheduler-env.ts'
import { Exposition } from './exposition.ts'

/** A scrape does not wait longer for the store. */
const patienceMs = 3000
const resolutionMs = 20
const percentiles = [50, 99, 100]
const pages = new WeakMap<ClientEnv, MetricsPage>()

/** The page of a scheduler: one, however many handlers serve it. It counts from the first call on. */
export function metricsPage(punctual: Punctual): MetricsPage {
  const env = schedulerEnv(punctual)
  const page = pages.get(env) ?? new MetricsPage(punctual, env)
  pages.set(env, page)
  return page
}

export class MetricsPage {
  readonly #exposition = new Exposition()
  readonly #levels: Levels
  readonly #delay: ReturnType<typeof monitorEventLoopDelay>
  #storedNames: readonly Level['name'][] = []

  constructor(punctual: Punctual, env: ClientEnv) {
    this.#levels = new Levels(punctual, env)
    this.#delay = monitorEventLoopDelay({ resolution: resolutionMs })
    this.#delay.enable()
    measure(env, this.#exposition)
  }

  /** The text of a scrape. While the store is away, its gauges are left out. */
  async response(): Promise<Response> {
    const stored = await this.#stored()
    this.#exposition.forget(this.#storedNames)
    this.#storedNames = stored.map(({ name }) => name)
    for (const { name, labels, value } of [...stored, ...this.#levels.own(), ...this.#loopDelay()])
      this.#exposition.set(name, labels, value)
    return new Response(this.#exposition.text(), {
      headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8', 'Cache-Control': 'no-store' },
    })
  }

  async #stored(): Promise<readonly Level[]> {
    const enough = new AbortController()
    try {
      const late = wait(patienceMs, [], { signal: enough.signal, ref: false })
      late.catch(() => {})
      return await Promise.race([this.#levels.stored(), late])
    } catch {
      return []
    } finally {
      enough.abort()
    }
  }

  /** A sample is a whole interval: what exceeds it is the delay. */
  #loopDelay(): readonly Level[] {
    const levels = percentiles.map((percentile) => ({
      name: 'scheduler_event_loop_delay_seconds' as const,
      labels: [String(percentile)],
      value: Math.max(0, this.#delay.percentile(percentile) / 1e9 - resolutionMs / 1000),
    }))
    this.#delay.reset()
    return levels
  }
}
