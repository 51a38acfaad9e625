// Which runs stand for the same instant: the scheduled one, its replays, and what a backfill made for it.
import { scheduledId } from '../model/ids.ts'
import type { JobRecord } from '../model/job.ts'
import type { OccurrenceState } from '../model/lifecycle.ts'
import type { OccurrenceSummary } from '../model/occurrence.ts'
import type { RangeRecord, Store } from '../store/store.ts'

const pageSize = 500
/** The newest ranges of passed instants that are read. */
const mostRanges = 10_000

/** The newest record of an instant. An instant that only a range covers has no id. */
export interface InstantRun {
  readonly id: string | null
  readonly state: OccurrenceState
  readonly entity: string | null
}

/** The newest record of each instant in [from, to) of a job. */
export async function instantRuns(
  store: Store,
  { tenant, name: job }: Pick<JobRecord, 'tenant' | 'name'>,
  instants: readonly number[],
  { from, to }: { from: number; to: number },
): Promise<ReadonlyMap<number, InstantRun>> {
  const runs = new Map<number, InstantRun>()
  const wanted = new Set(instants)
  for await (const line of lines(store, { tenant, job, from, to })) {
    const { scheduledAt } = line
    if (!wanted.has(scheduledAt) || runs.has(scheduledAt)) continue
    if ((await rootOf(store, line)) === scheduledId(tenant, job, scheduledAt)) runs.set(scheduledAt, line)
  }
  const ranges = await store.listRanges({ tenant, job, limit: mostRanges })
  for (const range of ranges.filter((one) => one.to >= from && one.from < to))
    for (const at of instants) if (isIn(range, at) && !runs.has(at)) runs.set(at, { id: null, state: range.state, entity: null })
  return runs
}

/** Whether a later run of the same work has succeeded. */
export async function hasSucceededSince(store: Store, line: OccurrenceSummary): Promise<boolean> {
  const { tenant, job, scheduledAt: from } = line
  const root = await rootOf(store, line)
  for await (const later of lines(store, { tenant, job, from, to: from + 1 })) {
    if (later.id === line.id) return false
    if ((await rootOf(store, later)) === root) return later.state === 'completed'
  }
  return false
}

/** The id of the first run of what this one repeats. */
async function rootOf(store: Store, { id, source }: Pick<OccurrenceSummary, 'id' | 'source'>): Promise<string> {
  if (source !== 'replay' && source !== 'backfill') return id
  for (let root = id; ; ) {
    const history = await store.get({ id: root })
    const origin = history?.record.replay?.origin
    if (origin === undefined) return root
    root = origin
  }
}

/** The newest first. */
async function* lines(
  store: Store,
  filter: { tenant: string; job: string; from: number; to: number },
): AsyncGenerator<OccurrenceSummary, void, undefined> {
  for (let cursor: string | null = null; ; ) {
    const page = await store.list({ ...filter, limit: pageSize, ...(cursor !== null && { cursor }) })
    yield* page.items
    cursor = page.cursor
    if (cursor === null) return
  }
}

function isIn({ from, to }: RangeRecord, at: number): boolean {
  return at >= from && at <= to
}
