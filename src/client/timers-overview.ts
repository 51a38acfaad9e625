// The records of the timer service, read without it: they are occurrences of two built-in jobs, and parts of the beats of nodes.
import type { NodeRecord } from '../store/store.ts'
import type { ClientEnv } from './client-env.ts'
import type { Punctual } from './punctual.ts'
import { schedulerEnv } from './scheduler-env.ts'

/** The name of the built-in job whose occurrences are the timers. */
export const timerJob = 'punctual/timer'
/** The name of the built-in job whose failed runs are the messages that could not be carried out. */
export const poisonJob = 'punctual/poison'
/** The part of a beat in which a timer service reports its state. */
export const timersPart = 'timers'

/** One side of a timer service. */
export interface TimersSide {
  readonly isOk: boolean
  /** Why it is not ok. */
  readonly reason: string | null
}

/** The state of a timer service, as its last heartbeat had it; a side that does not run there is null. */
export interface TimersReport {
  readonly broker: TimersSide & { readonly name: string; readonly version: string | null; readonly warnings: readonly string[] }
  readonly commands: TimersSide | null
  readonly firing: TimersSide | null
}

/** A process that runs a timer service. */
export interface TimersInstance extends TimersReport {
  readonly node: string
  readonly boot: string
  readonly beatAt: Date
  /** Whether its last heartbeat is younger than its timeout. */
  readonly isBeating: boolean
}

/** The numbers, the poison and the processes for a page about timers. */
export interface TimersOverview {
  /** Timers by state, of all tenants or of one. */
  readonly pending: number
  readonly fired: number
  readonly canceled: number
  readonly dead: number
  /** The newest terminated messages, at most 50. They belong to no tenant. */
  readonly poison: readonly { readonly id: string; readonly at: Date; readonly reason: string | null }[]
  readonly poisonCount: number
  readonly instances: readonly TimersInstance[]
}

const mostPoison = 50

/** Timers by state, the newest terminated messages and the state of each timer service, from the store: no broker is needed. */
export async function timersOverview(punctual: Punctual, options: { tenant?: string } = {}): Promise<TimersOverview> {
  const [counts, poison, { items }, instances] = await Promise.all([
    punctual.counts({ ...options, job: timerJob }),
    punctual.counts({ job: poisonJob }),
    punctual.list({ job: poisonJob, state: 'failed', limit: mostPoison }),
    timersInstances(schedulerEnv(punctual)),
  ])
  return {
    pending: counts.pending + counts.waiting + counts.retrying + counts.running,
    fired: counts.completed,
    canceled: counts.canceled,
    dead: counts.dead,
    poison: items.map(({ id, endedAt, createdAt, error }) => ({ id, at: endedAt ?? createdAt, reason: error?.message ?? null })),
    poisonCount: poison.failed,
    instances,
  }
}

async function timersInstances({ store }: Pick<ClientEnv, 'store'>): Promise<readonly TimersInstance[]> {
  const { now, nodes } = await store.nodes()
  return nodes.flatMap(({ name, boot, beatAt, ttlMs, parts }: NodeRecord) => {
    const report = parts[timersPart] as TimersReport | undefined
    if (!report) return []
    return [{ node: name, boot, beatAt: new Date(beatAt), isBeating: beatAt + ttlMs >= now, ...report }]
  })
}
