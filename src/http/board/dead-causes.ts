import { causeOf } from '../../model/cause.ts'
import type { DeadCause } from '../../store/store.ts'
import type { WireDeadCause } from '../wire.ts'
import type { Board } from './board.ts'
import { errorLine, iso, wireLine } from './line.ts'

const sampled = 200
const steps = 24

/** Dead letters by cause. `isShort`: without what takes a look at each of them. */
export async function deadCauses(
  board: Board,
  scope: { tenant?: string; job?: string },
  { limit, isShort = false }: { limit: number; isShort?: boolean },
): Promise<WireDeadCause[]> {
  const { causes } = await board.env.store.counts({ ...scope, causes: limit })
  return Promise.all(causes.map((cause) => wireCause(board, scope, cause, isShort ? 20 : sampled)))
}

async function wireCause(
  board: Board,
  scope: { tenant?: string; job?: string },
  group: DeadCause,
  most: number,
): Promise<WireDeadCause> {
  const { cause, count, firstAt, lastAt, jobs, sample } = group
  const [{ items }, history] = await Promise.all([
    board.env.store.list({ ...scope, cause, limit: most }),
    board.env.store.get({ id: sample }),
  ])
  const last = history?.turns.at(-1)
  const task =
    last?.tasks?.find(({ state }) => state === 'failed' || state === 'timeout')?.task ??
    history?.attempts.findLast(({ state }) => state === 'failed' || state === 'timeout')?.task ??
    null
  const newest = items.find(({ id }) => id === sample) ?? items[0]
  return {
    cause,
    label: errorLine(newest?.error ?? last?.error ?? null) ?? 'No error is on record',
    job: jobs[0] ?? '',
    task,
    count,
    capped: false,
    tenants: counted(items.map(({ tenant }) => tenant)).map(([tenant, n]) => ({ tenant, count: n })),
    firstAt: iso(firstAt),
    lastAt: iso(lastAt),
    spark: spark(
      items.flatMap(({ endedAt }) => endedAt ?? []),
      firstAt,
      lastAt,
    ),
    entities: [...new Set(items.flatMap(({ entity }) => entity ?? []))].slice(0, 20),
    nodes: counted((history?.turns ?? []).flatMap(({ node }) => node ?? [])).map(([node, n]) => ({ node, count: n })),
    versions: history ? [history.record.version] : [],
    sample: newest ? { ...wireLine(newest, board.now), cause: newest.error ? causeOf(newest.error) : cause } : null,
  }
}

function counted(values: readonly string[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1])
}

function spark(ends: readonly number[], from: number, to: number): { stepMs: number; counts: number[] } {
  const stepMs = Math.max(60_000, Math.ceil((to - from + 1) / steps))
  const counts = new Array<number>(Math.min(steps, Math.floor((to - from) / stepMs) + 1)).fill(0)
  for (const at of ends) {
    const step = Math.min(counts.length - 1, Math.max(0, Math.floor((at - from) / stepMs)))
    counts[step] = (counts[step] as number) + 1
  }
  return { stepMs, counts }
}
