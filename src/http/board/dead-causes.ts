import { causeOf } from '../../model/cause.ts'
import type { DeadCause } from '../../store/store.ts'
import type { WireDeadCause } from '../wire.ts'
import type { Board } from './board.ts'
import { errorLine, iso, isoOrNull, wireError, wireLine } from './line.ts'

/** Lines that one request looks at, over all groups, and of one group. */
const mostLines = 500
const mostOfGroup = 200
/** Single ones that it looks at. */
const mostLooks = 30
const mostLooksOfGroup = 10
const steps = 24
const leastStepMs = 60_000

interface Depth {
  /** Groups at most. */
  readonly limit: number
  /** Without what takes a look at single ones of a group. */
  readonly isShort?: boolean
  /** Stacks name files of the server. */
  readonly hasStacks?: boolean
}

type Scope = { readonly tenant?: string; readonly job?: string }

/** Dead letters by cause. */
export async function deadCauses(board: Board, scope: Scope, depth: Depth): Promise<WireDeadCause[]> {
  const { causes } = await board.env.store.counts({ ...scope, causes: depth.limit })
  const share = (most: number, ofGroup: number) => Math.min(ofGroup, Math.ceil(most / Math.max(1, causes.length)))
  const sampled = share(mostLines, mostOfGroup)
  const looked = depth.isShort ? 0 : share(mostLooks, mostLooksOfGroup)
  const { nodes } = looked === 0 ? { nodes: [] } : await board.env.store.nodes()
  const nodeNames = new Map(nodes.map(({ boot, name }) => [boot, name]))
  const group = { sampled, looked, nodeNames, hasStacks: depth.hasStacks === true }
  return Promise.all(causes.map((cause) => wireCause(board, scope, cause, group)))
}

interface Look {
  readonly sampled: number
  readonly looked: number
  readonly nodeNames: ReadonlyMap<string, string>
  readonly hasStacks: boolean
}

async function wireCause(
  board: Board,
  scope: Scope,
  group: DeadCause,
  { sampled, looked, nodeNames, hasStacks }: Look,
): Promise<WireDeadCause> {
  const { cause, count, firstAt, lastAt, sample } = group
  const { store } = board.env
  const [{ items }, history] = await Promise.all([store.list({ ...scope, cause, limit: sampled }), store.get({ id: sample })])
  const last = history?.turns.at(-1)
  const task =
    last?.tasks?.find(({ state }) => state === 'failed' || state === 'timeout')?.task ??
    history?.attempts.findLast(({ state }) => state === 'failed' || state === 'timeout')?.task ??
    null
  const newest = items.find(({ id }) => id === sample) ?? items[0]
  const job = newest?.job ?? ''
  return {
    cause,
    label: errorLine(newest?.error ?? last?.error ?? null) ?? 'No error is on record',
    job,
    task,
    count,
    seen: items.length,
    tenants: counted(items.map(({ tenant }) => tenant)).map(([tenant, n]) => ({ tenant, count: n })),
    firstAt: iso(firstAt),
    lastAt: iso(lastAt),
    spark: spark(
      items.flatMap(({ endedAt }) => endedAt ?? []),
      firstAt,
      lastAt,
    ),
    entities: counted(items.flatMap(({ entity }) => entity ?? []))
      .map(([entity, n]) => ({ entity, count: n }))
      .slice(0, 20),
    ...(looked === 0
      ? { nodes: [], versions: [], lastSuccessAt: null }
      : await shared(board, { ...scope, job }, items.slice(0, looked), nodeNames)),
    sample: newest
      ? {
          ...wireLine(newest, board.now),
          error: wireError(newest.error, hasStacks),
          cause: newest.error ? causeOf(newest.error) : cause,
        }
      : null,
  }
}

/** The common traits of the newest of a group, and the last success of its job. */
async function shared(
  board: Board,
  own: { readonly tenant?: string; readonly job: string },
  newest: readonly { readonly id: string }[],
  names: ReadonlyMap<string, string>,
): Promise<Pick<WireDeadCause, 'nodes' | 'versions' | 'lastSuccessAt'>> {
  const { store } = board.env
  const [histories, { items }] = await Promise.all([
    Promise.all(newest.map(({ id }) => store.get({ id }))),
    store.list({ ...own, states: ['completed'], limit: 1 }),
  ])
  const lastNodes = histories.flatMap((one) => one?.turns.at(-1)?.node ?? [])
  return {
    nodes: counted(lastNodes.map((boot) => names.get(boot) ?? `${boot.slice(0, 8)}, gone`)).map(([name]) => name),
    // A job of all tenants has no version in those where it has no record.
    versions: counted(histories.flatMap((one) => (one && one.record.version > 0 ? [one.record.version] : []))).map(
      ([version]) => version,
    ),
    lastSuccessAt: isoOrNull(items[0]?.endedAt),
  }
}

function counted<Value>(values: readonly Value[]): [Value, number][] {
  const counts = new Map<Value, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1])
}

/** Always the same number of steps, so groups can be compared. */
function spark(ends: readonly number[], from: number, to: number): WireDeadCause['spark'] {
  const stepMs = Math.max(leastStepMs, Math.ceil((to - from + 1) / steps))
  const counts = new Array<number>(steps).fill(0)
  for (const at of ends) {
    const step = Math.max(0, steps - 1 - Math.floor(Math.max(0, to - at) / stepMs))
    counts[step] = (counts[step] as number) + 1
  }
  return { stepMs, counts }
}
