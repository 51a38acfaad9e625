import { occurrenceStates } from '../../model/lifecycle.ts'
import { having } from '../rules/having.ts'
import type { CountsQuery, DeadCause, JobCounts, StateCounts } from '../store.ts'
import type { Entry } from './entry.ts'
import type { State } from './state.ts'

export function counts(state: State, asked: CountsQuery): JobCounts {
  const { tenant, job, causes = 0, failing = 0, tenants = 0 } = asked
  const isAsked = having({ tenant, job })
  const entries = [...state.entries.values()].filter(({ record }) => isAsked(record))
  const ranges = state.ranges.filter(isAsked)
  const runs = state.runs.ofJobs((one) => job !== undefined && isAsked(one))
  return {
    states: statesOf(entries, ranges),
    ...runs,
    causes: deadCauses(entries, causes),
    failing: state.runs.failing(isAsked).slice(0, failing),
    tenants: [...new Set([...entries, ...ranges].map(({ tenant }) => tenant))]
      .sort()
      .slice(0, tenants)
      .map((name) => {
        const isOf = having({ tenant: name })
        return { name, states: statesOf(entries.filter(isOf), ranges.filter(isOf)) }
      }),
  }
}

function statesOf(entries: readonly Entry[], ranges: State['ranges']): StateCounts {
  const states = Object.fromEntries(occurrenceStates.map((name) => [name, 0])) as Record<keyof StateCounts, number>
  for (const entry of entries) states[entry.state]++
  for (const range of ranges) states[range.state] += range.count
  return states
}

function deadCauses(entries: readonly Entry[], limit: number): readonly DeadCause[] {
  const dead = entries.filter(({ cause }) => cause !== null)
  return [...Map.groupBy(dead, (entry) => entry.cause as string)]
    .map(([cause, entries]) => group(cause, entries))
    .sort((a, b) => b.count - a.count || b.lastAt - a.lastAt || (a.cause < b.cause ? -1 : 1))
    .slice(0, limit)
}

function group(cause: string, entries: readonly Entry[]): DeadCause {
  const died = entries.map(({ turns }) => turns.at(-1)?.endedAt ?? 0)
  return {
    cause,
    count: entries.length,
    firstAt: Math.min(...died),
    lastAt: Math.max(...died),
    tenants: [...new Set(entries.map(({ tenant }) => tenant))].sort(),
    sample: entries.reduce((newest, entry) => (entry.ref > newest.ref ? entry : newest)).id,
  }
}
