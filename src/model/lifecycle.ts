// The one table of states and legal moves. SQL constraints, the diagram in docs/concepts.md and the badges are tested against it.

export const occurrenceStates = [
  'pending',
  'waiting',
  'running',
  'retrying',
  'dead',
  'completed',
  'failed',
  'canceled',
  'skipped',
  'missed',
] as const
/** The states of an occurrence. */
export type OccurrenceState = (typeof occurrenceStates)[number]

/** From each state, the states an occurrence may go to next. */
export const occurrenceMoves: Readonly<Record<OccurrenceState, readonly OccurrenceState[]>> = {
  pending: ['running', 'waiting', 'canceled', 'skipped', 'missed'],
  waiting: ['pending', 'running', 'retrying', 'canceled', 'skipped', 'missed'],
  running: ['completed', 'failed', 'dead', 'retrying', 'pending', 'canceled'],
  retrying: ['running', 'waiting', 'canceled', 'missed'],
  dead: ['retrying', 'canceled'],
  completed: [],
  failed: [],
  canceled: [],
  skipped: [],
  missed: [],
}

/** The states that an occurrence never leaves; `dead` is not among them, since a person may retry or discard it. */
export const endStates: readonly OccurrenceState[] = occurrenceStates.filter((state) => occurrenceMoves[state].length === 0)

export function isEnd(state: OccurrenceState): boolean {
  return occurrenceMoves[state].length === 0
}

/** How a turn, one stay of an occurrence on a node, can end. */
export const turnEnds = [
  'completed',
  'failed',
  'dead',
  'parked',
  'released',
  'canceled',
  'skipped',
  'missed',
  'stale',
  'lost',
] as const
/** How a turn can end. */
export type TurnEnd = (typeof turnEnds)[number]

/** Where the occurrence stands after a turn has ended so, unless a later turn begins. */
export const stateAfter: Readonly<Record<TurnEnd, OccurrenceState>> = {
  completed: 'completed',
  failed: 'failed',
  dead: 'dead',
  parked: 'retrying',
  released: 'pending',
  canceled: 'canceled',
  skipped: 'skipped',
  missed: 'missed',
  stale: 'retrying',
  lost: 'retrying',
}

export const taskRunStates = ['pending', 'running', 'succeeded', 'failed', 'timeout', 'canceled'] as const
/** The states of a task run. */
export type TaskRunState = (typeof taskRunStates)[number]

export const attemptStates = ['pending', 'running', 'succeeded', 'failed', 'timeout', 'canceled', 'stale', 'lost'] as const
/** The states of an attempt. */
export type AttemptState = (typeof attemptStates)[number]

/** The origin of an occurrence. */
export const sources = ['schedule', 'manual', 'deferred', 'timer', 'replay', 'recovery', 'backfill'] as const
/** The origin of an occurrence. */
export type Source = (typeof sources)[number]
