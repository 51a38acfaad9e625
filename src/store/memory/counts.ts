import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import type { CountsQuery, JobCounts } from '../store.ts'
import { deadCauses } from './counts/dead-causes.ts'
import type { State } from './state.ts'

export function counts(state: State, asked: CountsQuery): JobCounts {
  const states = Object.fromEntries(occurrenceStates.map((name) => [name, 0])) as Record<OccurrenceState, number>
  const entries = [...state.entries.values()].filter(({ record }) => isAsked(asked, record))
  for (const entry of entries) states[entry.state]++
  for (const range of state.ranges) if (isAsked(asked, range)) states[range.state] += range.count
  return {
    states,
    ...state.runs.ofJobs((job) => isAsked(asked, job)),
    causes: asked.causes === undefined ? [] : deadCauses(entries, asked.causes),
  }
}

export function isAsked({ tenant, job }: CountsQuery, of: { tenant: string; job: string }): boolean {
  return (tenant === undefined || tenant === of.tenant) && (job === undefined || job === of.job)
}
