// What became of each task, read off the ended turns and attempts. Nothing here is stored: the executor numbers its next
// attempts by it, and readers see the same.
import type { AttemptState, TaskRunState } from './lifecycle.ts'
import type { AttemptRecord, TurnRecord } from './occurrence.ts'
import type { ErrorRecord } from './report.ts'
import type { TaskGraph } from './task-graph.ts'

/** One try of a task. */
export interface AttemptHistory {
  readonly n: number
  readonly turn: number
  readonly state: AttemptState
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly result: string | null
  readonly error: ErrorRecord | null
}

export interface TaskHistory {
  readonly task: string
  readonly state: TaskRunState
  readonly attempts: readonly AttemptHistory[]
  /** Attempts that count against the retries: a lost one does not. */
  readonly failures: number
  /** JSON text of the successful attempt. */
  readonly result: string | null
}

const failedStates: readonly AttemptState[] = ['failed', 'timeout', 'stale']

/** The history of each task in the order of the graph. */
export function taskHistories(graph: TaskGraph, turns: readonly TurnRecord[], attempts: readonly AttemptRecord[]): readonly TaskHistory[] {
  const tries = new Map<string, AttemptHistory[]>([...graph.keys()].map((task) => [task, []]))
  for (const turn of turns) {
    for (const attempt of attempts) if (attempt.turn === turn.turn) tries.get(attempt.task)?.push(attempt)
    for (const task of implied(graph, turn, tries)) addImplied(tries.get(task) as AttemptHistory[], turn)
  }
  const open = (turns.at(-1)?.turn ?? 0) + 1
  for (const attempt of attempts) if (attempt.turn >= open) tries.get(attempt.task)?.push(attempt)
  const reports = new Map(turns.at(-1)?.tasks?.map((report) => [report.task, report]))
  return [...graph.keys()].map((task) => summary(task, tries.get(task) as AttemptHistory[], reports.get(task)?.state))
}

/** The tasks whose try in this turn has no record of its own: that of a one-task turn, and those that were cut with their node. */
function implied(graph: TaskGraph, turn: TurnRecord, tries: ReadonlyMap<string, readonly AttemptHistory[]>): readonly string[] {
  if (turn.attempt !== null) return [...graph.keys()].slice(0, 1)
  if (turn.end !== 'lost' && turn.end !== 'stale') return []
  // Whatever may start is started at once, so that what could run when the node went is what ran.
  const succeeded = (task: string) => tries.get(task)?.some((attempt) => attempt.state === 'succeeded') ?? false
  return [...graph].filter(([task, after]) => !succeeded(task) && after.every(succeeded)).map(([task]) => task)
}

function addImplied(attempts: AttemptHistory[], turn: TurnRecord): void {
  const state = turn.attempt ?? (turn.end as 'lost' | 'stale')
  const { startedAt, endedAt, result, error } = turn
  attempts.push({ n: attempts.length + 1, turn: turn.turn, state, startedAt, endedAt, result, error })
}

function summary(task: string, attempts: readonly AttemptHistory[], reported: TaskRunState | undefined): TaskHistory {
  const success = attempts.find((attempt) => attempt.state === 'succeeded')
  const failures = attempts.filter((attempt) => failedStates.includes(attempt.state)).length
  const state = success ? 'succeeded' : (reported ?? 'pending')
  return { task, state, attempts, failures, result: success?.result ?? null }
}
