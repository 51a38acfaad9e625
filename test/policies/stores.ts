// The stores on which the policies are proved, and what a test wants to know about the history of a job.
import type { OccurrenceLine } from '../../src/client/occurrence-view.ts'
import type { PunctualOptions } from '../../src/client/options.ts'
import type { Punctual } from '../../src/client/punctual.ts'
import { type Cluster, type Node, newCluster } from '../support/cluster.ts'
import { type Connect, onEachStore } from '../support/each-store.ts'

export const hour = 3_600_000
export const day = 24 * hour

/** Registers the same tests on every store. */
export function onStores(title: string, register: (scene: (start?: string) => Scene, store: string) => void): void {
  onEachStore(title, (newDatabase, store) => register((start) => newScene(newDatabase(), start), store))
}

export interface Scene extends Cluster {
  /** A started node with rare heartbeats: weeks pass quickly. */
  slowNode(options?: Partial<PunctualOptions>): Promise<Node>
  /** Makes the node look like a killed process: none of its calls reaches the store again. */
  crash(node: Node): void
}

const slow: Partial<PunctualOptions> = { node: { heartbeat: '15m', timeout: '40m' }, retention: '3650d', keyRetention: '3650d' }

function newScene(connect: Connect, start = '2026-01-01T00:00:00Z'): Scene {
  const cluster = newCluster({ connect, start })
  return {
    ...cluster,
    slowNode: (options) => cluster.node({ ...slow, ...options }),
    crash: (node) => node.store.freeze(),
  }
}

/** All occurrences of a job, the oldest instant first. */
export async function historyOf(punctual: Punctual, job: string): Promise<readonly OccurrenceLine[]> {
  const lines: OccurrenceLine[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await punctual.list({ job, limit: 500, ...(cursor !== undefined && { cursor }) })
    lines.push(...page.items)
    if (page.cursor === null) return lines.sort((a, b) => a.scheduledAt.getTime() - b.scheduledAt.getTime())
    cursor = page.cursor
  }
}

/** How often each state stands for an instant of the schedule, after checking that every instant is accounted for exactly once. */
export async function accountOf(punctual: Punctual, job: string, instants: readonly number[]): Promise<Record<string, number>> {
  const lines = (await historyOf(punctual, job)).filter(({ source }) => source === 'schedule' || source === 'recovery')
  const ranges = await punctual.ranges({ job, limit: 1000 })
  const open = new Set(instants)
  const tally: Record<string, number> = {}
  const count = (state: string, by: number) => {
    tally[state] = (tally[state] ?? 0) + by
  }
  for (const { scheduledAt, state } of lines) {
    if (!open.delete(scheduledAt.getTime()))
      throw new Error(`${job}: ${scheduledAt.toISOString()} (${state}) is no instant, or is there twice`)
    count(state, 1)
  }
  for (const { from, to, state, count: said } of ranges) {
    const inside = [...open].filter((at) => at >= from.getTime() && at <= to.getTime())
    if (inside.length !== said)
      throw new Error(`${job}: the range ${from.toISOString()} to ${to.toISOString()} says ${said} and covers ${inside.length}`)
    for (const at of inside) open.delete(at)
    count(state, said)
  }
  if (open.size > 0)
    throw new Error(
      `${job}: ${open.size} instants are not accounted for, the first at ${new Date(Math.min(...open)).toISOString()}`,
    )
  return tally
}

/** The instants of a step in (from, to], or [from, to] when `from` itself is one that counts. */
export function steps(from: number, to: number, stepMs: number): number[] {
  const first = Math.floor(from / stepMs) * stepMs + stepMs
  return Array.from({ length: Math.max(0, Math.floor((to - first) / stepMs) + 1) }, (_, at) => first + at * stepMs)
}
