import type { ListFilter } from '../../src/client/list-filter.ts'
import type { Occurrence, OccurrenceLine } from '../../src/client/occurrence-view.ts'
import type { PunctualOptions } from '../../src/client/options.ts'
import { createPunctual, type Punctual } from '../../src/client/punctual.ts'
import type { Logger } from '../../src/model/context.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { type Probe, probe } from '../../src/testing/probe.ts'
import { type Connect, inMemory } from './each-store.ts'
import { type FaultyStore, faultyStore } from './faulty-store.ts'

export interface LogLine {
  readonly level: keyof Logger
  readonly message: string
  readonly fields: object
}

/** One scheduler of a cluster, with what a test wants to see of it and do to it. */
export interface Node {
  readonly punctual: Punctual
  readonly probe: Probe
  readonly store: FaultyStore
  readonly log: readonly LogLine[]
}

export interface Cluster {
  readonly clock: ManualClock
  /** A scheduler that is not started. */
  client(options?: Partial<PunctualOptions>): Node
  /** A started one. */
  node(options?: Partial<PunctualOptions>): Promise<Node>
  /** Moves the clock in steps of a second, as the loops of every node would look in between. */
  pass(seconds: number): Promise<void>
}

/** Schedulers on one database and one clock. */
export function newCluster({ connect = inMemory(), start }: { connect?: Connect; start?: string } = {}): Cluster {
  const clock = manualClock(start)
  const client = (options: Partial<PunctualOptions> = {}): Node => {
    const store = faultyStore(connect(), clock)
    const log: LogLine[] = []
    const line =
      (level: keyof Logger) =>
      (message: string, fields: object = {}) =>
        void log.push({ level, message, fields })
    const logger: Logger = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
    const punctual = createPunctual({ store, clock, log: logger, random: () => 0.5, ...options })
    return { punctual, probe: probe(punctual), store, log }
  }
  return {
    clock,
    client,
    async node(options) {
      const one = client(options)
      await one.punctual.start()
      await clock.settle()
      return one
    },
    async pass(seconds) {
      for (let passed = 0; passed < seconds; passed++) await clock.advance('1s')
    },
  }
}

/** The occurrence, which must be there. */
export async function occurrence(punctual: Punctual, target: Parameters<Punctual['get']>[0]): Promise<Occurrence> {
  const found = await punctual.get(target)
  if (!found) throw new Error(`There is no occurrence ${JSON.stringify(target)}`)
  return found
}

/** All occurrences that a store has, or those of a filter. */
export async function allLines(punctual: Punctual, filter: ListFilter = {}): Promise<OccurrenceLine[]> {
  const lines: OccurrenceLine[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Awaited<ReturnType<Punctual['list']>> = await punctual.list({ ...filter, limit: 500, ...(cursor && { cursor }) })
    lines.push(...page.items)
    cursor = page.cursor
  }
  return lines
}

/** All occurrences that a store has, with their history. */
export async function allOccurrences(punctual: Punctual): Promise<Occurrence[]> {
  const found: Occurrence[] = []
  for (const { id } of await allLines(punctual)) found.push(await occurrence(punctual, id))
  return found
}

/** The states of an occurrence's tasks, and of the attempts of each. */
export function taskStates({ tasks }: Occurrence): Record<string, string> {
  return Object.fromEntries(
    tasks.map(({ name, state, attempts }) => [name, [state, ...attempts.map((attempt) => attempt.state)].join(' ')]),
  )
}
