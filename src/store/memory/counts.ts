import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import type { JobCounts } from '../store.ts'
import { jobOf, type State } from './state.ts'

export function counts(state: State, asked: { tenant?: string; job?: string }): JobCounts {
  const states = Object.fromEntries(occurrenceStates.map((name) => [name, 0])) as Record<OccurrenceState, number>
  for (const entry of state.entries.values()) if (isAsked(asked, entry.record)) states[entry.state]++
  for (const range of state.ranges) if (isAsked(asked, range)) states[range.state] += range.count
  const runs = ofJobs(state.lastRuns, asked)
  const failures = ofJobs(state.failuresInRow, asked)
  return {
    states,
    lastRunAt: runs.length === 0 ? null : Math.max(...runs),
    failuresInRow: failures.reduce((sum, count) => sum + count, 0),
  }
}

function ofJobs(values: ReadonlyMap<string, number>, asked: { tenant?: string; job?: string }): number[] {
  return [...values].flatMap(([key, value]) => (isAsked(asked, jobOf(key)) ? [value] : []))
}

export function isAsked({ tenant, job }: { tenant?: string; job?: string }, of: { tenant: string; job: string }): boolean {
  return (tenant === undefined || tenant === of.tenant) && (job === undefined || job === of.job)
}
