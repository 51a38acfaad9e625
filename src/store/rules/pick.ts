import type { BacklogGroup, ClaimPick } from '../messages/claim.ts'
import { having } from './having.ts'

/** The fields of due work that a pick goes by. */
export interface Pickable {
  readonly tenant: string
  readonly job: string
  readonly priority: number
}

/** Due work, given by priority, then due, in the order in which a pick takes it. */
export function* picked<Row extends Pickable>(due: Iterable<Row>, pick: ClaimPick): Generator<Row, void, undefined> {
  if (pick.kind === 'fair') return yield* inTurn([...due])
  const left = pick.quotas.map(({ limit }) => limit)
  const fits = pick.quotas.map(({ tenant, job, priority }) => having({ tenant, job, priority }))
  for (const row of due) {
    const at = fits.findIndex((isOf) => isOf(row))
    if (at < 0 || (left[at] as number) <= 0) continue
    left[at] = (left[at] as number) - 1
    yield row
  }
}

/** Within a priority one of each tenant in turn, the tenant whose work has been due the longest first. */
function* inTurn<Row extends Pickable>(due: readonly Row[]): Generator<Row, void, undefined> {
  for (const level of Map.groupBy(due, ({ priority }) => priority).values()) {
    const tenants = [...Map.groupBy(level, ({ tenant }) => tenant).values()]
    for (let round = 0; tenants.some((rows) => round < rows.length); round++)
      for (const rows of tenants) if (rows[round]) yield rows[round] as Row
  }
}

/** Groups are counted up to this many. */
export const mostCounted = 1000

/** Due work by tenant, job and priority. */
export function backlogOf(due: Iterable<Pickable>): readonly BacklogGroup[] {
  const groups = Map.groupBy(due, ({ tenant, job, priority }) => JSON.stringify([tenant, job, priority]))
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, rows]) => {
      const [tenant, job, priority] = JSON.parse(key) as [string, string, number]
      return { tenant, job, priority, count: Math.min(rows.length, mostCounted) }
    })
}
