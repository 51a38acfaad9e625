import { occurrenceStates } from '../../model/lifecycle.ts'
import type { CountsQuery, JobCounts, StateCounts } from '../store.ts'
import { deadCauses } from './counts/dead-causes.ts'
import type { Entry } from './entry.ts'
import type { State } from './state.ts'

export function counts(state: State, asked: CountsQuery): JobCounts {
  const { causes = 0, failing = 0, tenants = 0 } = asked
  const entries = [...state.entries.values()].filter(({ record }) => isAsked(asked, record))
  const ranges = state.ranges.filter((range) => isAsked(asked, range))
  const isOfJob = asked.job !== undefined
  const runs = state.runs.ofJobs((job) => isOfJob && isAsked(asked, job))
  return {
    states: statesOf(entries, ranges),
    ...runs,
    causes: deadCauses(entries, causes),
    failing: state.runs.failing((job) => isAsked(asked, job)).slice(0, failing),
    tenants: [...new Set([...entries, ...ranges].map(({ tenant }) => tenant))]
      .sort()
      .slice(0, tenants)
      .map((name) => ({ name, states: statesOf(entries.filter(isOf(name)), ranges.filter(isOf(name))) })),
  }
}

function statesOf(entries: readonly Entry[], ranges: State['ranges']): StateCounts {
  const states = Object.fromEntries(occurrenceStates.map((name) => [name, 0])) as Record<keyof StateCounts, number>
  for (const entry of entries) states[entry.state]++
  for (const range of ranges) states[range.state] += range.count
  return states
}

function isOf(name: string) {
  return ({ tenant }: { readonly tenant: string }) => tenant === name
}

export function isAsked({ tenant, job }: CountsQuery, of: { tenant: string; job: string }): boolean {
  return (tenant === undefined || tenant === of.tenant) && (job === undefined || job === of.job)
}
