// The history of each task, derived from the ended turns and attempts. It is not stored. The engine numbers its next
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
  /** When the task is tried again; null when nothing follows by itself. */
  readonly retryAt: number | null
}

export interface TaskHistory {
  readonly task: string
  readonly state: TaskRunState
  readonly attempts: readonly AttemptHistory[]
  /** Attempts that count against the retries: not a lost one, and none from before a person's retry of a dead occurrence. */
  readonly failures: number
  readonly retryAt: number | null
  /** JSON text of the successful attempt. */
  readonly result: string | null
}

const failedStates: readonly AttemptState[] = ['failed', 'timeout', 'stale']

/** The history of each task in the order of the graph. `goesOn`: another turn follows the last of these, or has begun. */
export function taskHistories(
  graph: TaskGraph,
  turns: readonly TurnRecord[],
  attempts: readonly AttemptRecord[],
  goesOn = false,
): readonly TaskHistory[] {
  if (turns.length === 0 && attempts.length === 0) return untried(graph)
  const tries = new Map<string, AttemptHistory[]>([...graph.keys()].map((task) => [task, []]))
  const add = (turn: number) => {
    for (const attempt of attempts) if (attempt.turn === turn) tries.get(attempt.task)?.push(attempt)
  }
  for (const turn of turns) {
    add(turn.turn)
    for (const task of implied(graph, turn, tries)) addImplied(tries.get(task) as AttemptHistory[], turn)
  }
  add((turns.at(-1)?.turn ?? 0) + 1)
  const retriedSince = turns.findLast((turn, at) => turn.end === 'dead' && (goesOn || at < turns.length - 1))?.turn ?? 0
  const reported = new Map(turns.at(-1)?.tasks?.map((report) => [report.task, report.state]))
  return [...graph.keys()].map((task) => summary(task, tries.get(task) as AttemptHistory[], retriedSince, reported.get(task)))
}

/** The history before the first turn, built once for each graph: every new occurrence needs it. */
const untriedTasks = new WeakMap<TaskGraph, readonly TaskHistory[]>()

function untried(graph: TaskGraph): readonly TaskHistory[] {
  const known = untriedTasks.get(graph)
  if (known) return known
  const tasks = [...graph.keys()].map(
    (task): TaskHistory => ({ task, state: 'pending', attempts: [], failures: 0, retryAt: null, result: null }),
  )
  untriedTasks.set(graph, tasks)
  return tasks
}

/** The tasks whose try in this turn has no separate record: that of a one-task turn, and those that were cut with their node. */
function implied(graph: TaskGraph, turn: TurnRecord, tries: ReadonlyMap<string, readonly AttemptHistory[]>): readonly string[] {
  if (turn.attempt !== null) return [...graph.keys()].slice(0, 1)
  if (cutState(turn) === null) return []
  // A task starts as soon as it may. So every task that could run when the node was lost did run.
  const succeeded = (task: string) => tries.get(task)?.some((attempt) => attempt.state === 'succeeded') ?? false
  return [...graph].filter(([task, after]) => !succeeded(task) && after.every(succeeded)).map(([task]) => task)
}

/** How the tries of a turn ended that its node did not end itself. */
function cutState({ end, reason }: TurnRecord): 'lost' | 'stale' | null {
  const cut = end === 'dead' ? reason : end
  return cut === 'lost' || cut === 'stale' ? cut : null
}

function addImplied(attempts: AttemptHistory[], turn: TurnRecord): void {
  const state = turn.attempt ?? (cutState(turn) as 'lost' | 'stale')
  const { startedAt, endedAt, result, error } = turn
  const retryAt = turn.end === 'parked' || turn.end === 'lost' || turn.end === 'stale' ? endedAt : null
  attempts.push({ n: attempts.length + 1, turn: turn.turn, state, startedAt, endedAt, result, error, retryAt })
}

function summary(
  task: string,
  attempts: readonly AttemptHistory[],
  retriedSince: number,
  reported: TaskRunState | undefined,
): TaskHistory {
  const success = attempts.find((attempt) => attempt.state === 'succeeded')
  const recent = attempts.filter((attempt) => attempt.turn > retriedSince)
  const failures = recent.filter((attempt) => failedStates.includes(attempt.state)).length
  const last = recent.at(-1)
  // A task without any try can still have succeeded: a replay of other tasks takes its result over.
  const hasSucceeded = success || (attempts.length === 0 && reported === 'succeeded')
  const state = hasSucceeded ? 'succeeded' : unfinishedState(last, reported === 'canceled')
  return { task, state, attempts, failures, retryAt: last?.retryAt ?? null, result: success?.result ?? null }
}

function unfinishedState(last: AttemptHistory | undefined, canceled: boolean): TaskRunState {
  const hasFailed = last && failedStates.includes(last.state) && last.retryAt === null
  if (hasFailed) return last.state === 'failed' ? 'failed' : 'timeout'
  return canceled ? 'canceled' : 'pending'
}
