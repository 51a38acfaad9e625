import { backlogOf } from '../rules/pick.ts'
import type { BacklogGroup } from '../store.ts'
import type { State } from './state.ts'

export function peek(state: State, { kinds }: { kinds: readonly string[] }): { now: number; nextDue: number | null } {
  return { now: state.now, nextDue: nextDue(state, kinds) }
}

export function backlog(state: State, { kinds }: { kinds: readonly string[] }): readonly BacklogGroup[] {
  return backlogOf([...state.ready.due(kinds, state.now), ...state.arrivals.due(kinds, state.now)])
}

/** When a claim of these kinds is worth a try: something is due, a pause ends, or a key is free for which one of them waits. */
export function nextDue(state: State, kinds: readonly string[]): number | null {
  return earliest([state.ready.earliest(kinds)?.dueAt, state.arrivals.earliest(kinds)?.dueAt, ...wakes(state, kinds)])
}

/** The same without what is due already, which a pick may have left on purpose. */
export function nextDueAfter(state: State, kinds: readonly string[]): number | null {
  const { now } = state
  return earliest([state.ready.nextDueAfter(kinds, now), state.arrivals.nextDueAfter(kinds, now), ...wakes(state, kinds)])
}

function* wakes(state: State, kinds: readonly string[]): Generator<number, void, undefined> {
  for (const { wait, kind } of state.aside) if (wait?.wakeAt != null && kinds.includes(kind)) yield wait.wakeAt
  for (const { key, freeAt } of state.releases) if (state.lines.has(key, kinds)) yield freeAt
}

function earliest(instants: readonly (number | null | undefined)[]): number | null {
  let first: number | null = null
  for (const instant of instants) if (instant != null && (first === null || instant < first)) first = instant
  return first
}
