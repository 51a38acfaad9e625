import { allJobs } from '../../engine/loops/all-jobs.ts'
import { isPausedAt } from '../../model/pause.ts'
import type { ClientEnv } from '../client-env.ts'
import type { Punctual } from '../punctual.ts'
import type { GaugeName } from './metric.ts'

const liveStates = ['pending', 'waiting', 'running', 'retrying', 'dead'] as const
const keptMs = 5000
const pausedKeptMs = 60_000

/** One gauge at one moment. */
export interface Level {
  readonly name: GaugeName
  readonly labels: readonly string[]
  readonly value: number
}

/** The gauges of a node. Values from the store are cached for five seconds, however often they are scraped. */
export class Levels {
  readonly #punctual: Punctual
  readonly #env: ClientEnv
  #kept: { readonly at: number; readonly levels: Promise<readonly Level[]> } | null = null
  #paused = { revision: '', at: 0, count: 0 }

  constructor(punctual: Punctual, env: ClientEnv) {
    this.#punctual = punctual
    this.#env = env
  }

  /** Gauges that this process knows without the store. */
  own(): readonly Level[] {
    const { time, clock } = this.#env
    const skewMs = time.now() - clock.wall()
    return [
      level('scheduler_node_healthy', this.#punctual.health.state === 'ok' ? 1 : 0),
      level('scheduler_clock_skew_seconds', skewMs / 1000),
    ]
  }

  /** Gauges read from the store. Rejects while the store is away. */
  stored(): Promise<readonly Level[]> {
    const now = this.#env.clock.mono()
    if (!this.#kept || now - this.#kept.at > keptMs) {
      const levels = this.#read()
      this.#kept = { at: now, levels }
      levels.catch(() => {
        this.#kept = null
      })
    }
    return this.#kept.levels
  }

  async #read(): Promise<readonly Level[]> {
    const { store, registry, time } = this.#env
    const [{ states }, backlog, known, paused] = await Promise.all([
      store.counts({}),
      store.backlog({ kinds: registry.kinds() }),
      store.nodes(),
      this.#pausedJobs(),
    ])
    const [oldest] = await store.listDue({ to: time.now(), limit: 1 })
    const queued = backlog.reduce((sum, { count }) => sum + count, states.waiting)
    return [
      ...liveStates.map((state) => ({ name: 'scheduler_occurrences' as const, labels: [state], value: states[state] })),
      level('scheduler_jobs_running_total', states.running),
      level('scheduler_jobs_in_queue_total', queued),
      level('scheduler_jobs_paused_total', paused),
      level('scheduler_oldest_due_age_seconds', oldest ? Math.max(0, time.now() - oldest.dueAt) / 1000 : 0),
      level('scheduler_nodes', known.nodes.length),
    ]
  }

  async #pausedJobs(): Promise<number> {
    const { store, time, clock } = this.#env
    const now = time.now()
    const pauses = (await store.readPauses({ since: now })).filter(({ from, to }) => from <= now && (to === null || now < to))
    const revision = pauses.map(({ id }) => id).join()
    if (revision !== this.#paused.revision || clock.mono() - this.#paused.at > pausedKeptMs) {
      let count = 0
      if (pauses.length > 0)
        for await (const { tenant, name, spec } of allJobs(store))
          if (!spec.isRetired && pauses.some((pause) => isPausedAt(pause, tenant, name, now))) count++
      this.#paused = { revision, at: clock.mono(), count }
    }
    return this.#paused.count
  }
}

function level(name: GaugeName, value: number): Level {
  return { name, labels: [], value }
}
