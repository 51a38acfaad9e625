import type { VersionRecord } from '../../model/job.ts'
import type { OccurrenceHistory, OccurrenceSummary } from '../../model/occurrence.ts'
import type { PauseRecord } from '../../model/pause.ts'
import type { BacklogGroup, DeadCause, GateRecord, JobCounts, NodeRecord, RangeRecord, Store } from '../../store/store.ts'

/** The readable content of a store, without a read of each occurrence, in a fixed order. So two stores can be compared. */
export interface Outline {
  readonly list: readonly OccurrenceSummary[]
  readonly counts: JobCounts
  readonly jobCounts: readonly JobCounts[]
  readonly deadCauses: readonly DeadCause[]
  readonly nodes: readonly NodeRecord[]
  readonly jobs: readonly unknown[]
  readonly versions: readonly (readonly VersionRecord[])[]
  readonly pauses: readonly PauseRecord[]
  readonly pauseRevision: number
  readonly ranges: readonly RangeRecord[]
  readonly backlog: readonly BacklogGroup[]
  readonly nextDue: number | null
  readonly gates: readonly GateRecord[]
  readonly audit: readonly unknown[]
}

/** All that can be read of a store. */
export interface Dump extends Outline {
  readonly histories: readonly (OccurrenceHistory | null)[]
}

export async function dump(store: Store): Promise<Dump> {
  const all = await outline(store)
  const histories: (OccurrenceHistory | null)[] = []
  for (const { id } of all.list) histories.push(inOrder(await store.get({ id })))
  return { ...all, histories }
}

const kinds = ['mail', 'report', 'report\t2']

export async function outline(store: Store): Promise<Outline> {
  const { nodes } = await store.nodes()
  const { jobs, pauseRevision } = await store.jobsToPlan({ horizonMs: 1e12, limit: 1000 })
  const toPlan = new Map(jobs.map(({ job, ...candidate }) => [job.id, candidate]))
  const known = await store.readJobs({ limit: 1000 })
  return {
    list: await listAll(store),
    counts: await store.counts({ failing: 100, tenants: 100 }),
    jobCounts: await Promise.all(known.map(({ tenant, name }) => store.counts({ tenant, job: name }))),
    deadCauses: (await store.counts({ causes: 100 })).causes,
    nodes: nodes.toSorted((a, b) => (a.boot < b.boot ? -1 : 1)),
    jobs: known.map((job) => ({ ...job, toPlan: toPlan.get(job.id) ?? null })),
    versions: await Promise.all(known.map((job) => store.readVersions(job))),
    pauses: await store.readPauses({}),
    pauseRevision,
    ranges: await store.listRanges({ limit: 1000 }),
    backlog: await store.backlog({ kinds }),
    nextDue: (await store.peek({ kinds })).nextDue,
    audit: (await store.listAudit({ of: 'rows', order: 'oldest', limit: 500 })).map(({ seq: _, ...row }) => row),
    gates: (await store.gate({ act: 'list', limit: 500 })).items,
  }
}

/** A dump without what every beat changes by itself. */
export async function lastingDump(store: Store): Promise<Dump> {
  const all = await dump(store)
  return { ...all, nodes: all.nodes.map((node) => ({ ...node, beats: 0, beatAt: 0 })) }
}

export async function listAll(store: Store, limit = 500): Promise<readonly OccurrenceSummary[]> {
  const items: OccurrenceSummary[] = []
  let cursor: string | null | undefined
  while (cursor !== null) {
    const page = await store.list({ limit, ...(cursor !== undefined && { cursor }) })
    items.push(...page.items)
    cursor = page.cursor
  }
  return items
}

/** Attempts of tasks that ran side by side have no order among themselves. */
function inOrder(history: OccurrenceHistory | null): OccurrenceHistory | null {
  return (
    history && {
      ...history,
      attempts: history.attempts.toSorted((a, b) => a.turn - b.turn || (a.task < b.task ? -1 : a.task > b.task ? 1 : a.n - b.n)),
    }
  )
}
