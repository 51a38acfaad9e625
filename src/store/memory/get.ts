import type { AttemptLog, OccurrenceHistory, WaitRecord } from '../../model/occurrence.ts'
import type { Which } from '../store.ts'
import type { Entry } from './entry.ts'
import { find } from './find.ts'
import type { State } from './state.ts'

export function get(state: State, which: Which): OccurrenceHistory | null {
  const entry = find(state, which)
  if (!entry) return null
  const { record, dueAt, turns, attempts, progress, logs } = entry
  return {
    record,
    state: entry.state,
    dueAt,
    node: state.nodeOf(entry),
    runningSince: entry.state === 'running' && entry.start?.turn === entry.turn ? entry.start.startedAt : null,
    turns: [...turns],
    attempts: [...attempts],
    progress,
    logs: logs.toSorted(byTry),
    wait: waitOf(state, entry),
    blockers: blockers(state, entry),
  }
}

function byTry(one: AttemptLog, other: AttemptLog): number {
  return one.turn - other.turn || (one.task < other.task ? -1 : one.task > other.task ? 1 : one.n - other.n)
}

/** Of a rate: when its next slot is free. */
function waitOf(state: State, { wait }: Entry): WaitRecord | null {
  if (wait?.reason !== 'rate') return wait
  const frees = state.releases.filter(({ key }) => key === wait.key).map(({ freeAt }) => freeAt)
  return { ...wait, wakeAt: frees.length === 0 ? null : Math.min(...frees) }
}

/** Of those that have been granted the key it waits for, at most ten ids. Slots of rates have no holder. */
function blockers(state: State, { wait }: Entry): readonly string[] {
  if (wait?.key == null || wait.reason === 'rate') return []
  const holders = [...state.entries.values()].filter(({ limits, granted }) =>
    limits.slice(0, granted).some(({ key }) => key === wait.key),
  )
  return holders.slice(0, 10).map(({ id }) => id)
}
