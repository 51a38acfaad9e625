import type { ClaimPick, Quota, WaitingGroup } from '../store.ts'
import type { Entry, Ledger } from './ledger.ts'

/** What is due, in the order in which `pick` wants it tried. */
export function* picked(due: readonly Entry[], pick: ClaimPick): Generator<Entry, void, undefined> {
  if (pick.kind === 'fair') return yield* inTurn(due)
  const left = pick.quotas.map(({ limit }) => limit)
  for (const entry of due) {
    const at = pick.quotas.findIndex((quota) => matches(quota, entry))
    if (at < 0 || (left[at] as number) <= 0) continue
    left[at] = (left[at] as number) - 1
    yield entry
  }
}

/** Within a priority one of each tenant in turn, the tenant whose work has been due the longest first. */
function* inTurn(due: readonly Entry[]): Generator<Entry, void, undefined> {
  for (const level of Map.groupBy(due, ({ record }) => record.priority).values()) {
    const tenants = [...Map.groupBy(level, ({ record }) => record.tenant).values()]
    for (let round = 0; tenants.some((entries) => round < entries.length); round++)
      for (const entries of tenants) if (entries[round]) yield entries[round] as Entry
  }
}

function matches({ tenant, job, priority }: Quota, { record }: Entry): boolean {
  return (
    (tenant === undefined || tenant === record.tenant) &&
    (job === undefined || job === record.job) &&
    (priority === undefined || priority === record.priority)
  )
}

const mostCounted = 1000

export function waiting(ledger: Ledger, { kinds }: { kinds: readonly string[] }): readonly WaitingGroup[] {
  const groups = Map.groupBy(ledger.ready.due(kinds, ledger.now), ({ record }) =>
    JSON.stringify([record.tenant, record.job, record.priority]),
  )
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, entries]) => {
      const [tenant, job, priority] = JSON.parse(key) as [string, string, number]
      return { tenant, job, priority, count: Math.min(entries.length, mostCounted) }
    })
}
