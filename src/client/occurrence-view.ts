// The public form of what the store knows: dates instead of numbers, values instead of JSON text.

import type { Refs } from '../model/context.ts'
import type { InputOf, ResultOf } from '../model/definition.ts'
import { type AttemptHistory, type TaskHistory, taskHistories } from '../model/history.ts'
import { attemptId, taskRunId } from '../model/ids.ts'
import type { JobSpec } from '../model/job.ts'
import {
  type AttemptState,
  isEnd,
  type OccurrenceState,
  type Source,
  type TaskRunState,
  type TurnEnd,
} from '../model/lifecycle.ts'
import type { OccurrenceHistory, OccurrenceSummary, Replay, TurnRecord, WaitRecord } from '../model/occurrence.ts'
import { decodePayload } from '../model/payload.ts'
import type { ErrorRecord } from '../model/report.ts'
import { cascade, type Settings, type SettingsDiff } from '../model/settings.ts'
import { endsOf, type TaskGraph, taskGraph } from '../model/task-graph.ts'
import type { Job } from './job-name.ts'
import { type KeyView, keyView } from './keys.ts'
import { type LogView, logView } from './log-view.ts'

/** An occurrence of a job that is known to the compiler. */
export type OccurrenceOf<J extends Job> = Occurrence<ResultOf<J>, InputOf<J>>

/** One intended run of a job, with its history. */
export interface Occurrence<Result = unknown, Payload = unknown> extends KeyView {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly definition: string
  readonly version: number
  readonly entity: string | null
  /** The id of the occurrence whose handler created it. */
  readonly parent: string | null
  readonly refs: Refs
  readonly state: OccurrenceState
  readonly source: Source
  readonly priority: number
  /** The instant it stands for: when it was first due, or where it was moved to before it began. */
  readonly scheduledAt: Date
  /** When it is due next, or was last. */
  readonly dueAt: Date
  /** The highest version that its key was given, where there is one. */
  readonly keyVersion: number | null
  readonly createdAt: Date
  /** When it first began. During its first turn it is known once a heartbeat or a finished task has recorded it. */
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  /** The newest instant that is on record: its creation, a start, the end of an attempt or turn, progress. */
  readonly updatedAt: Date
  /** As it was given. */
  readonly payload: Payload
  /** The paths of the payload that the job's `redact` names; the values are there. */
  readonly redact: readonly string[]
  /** The value of its last task, or where it has several last ones the values of all by name; undefined unless it has completed. */
  readonly result: Result | undefined
  readonly error: ErrorRecord | null
  /** The boot id of the node that runs it, or ran it last. */
  readonly node: string | null
  readonly reason: string | null
  /** Why it does not run although it is due; null unless it is `waiting`. */
  readonly wait: WaitView | null
  /** The run that it repeats, and why: of a replay, and of a backfill of a recorded instant. */
  readonly replay: Replay | null
  /** Of a compressed recovery: the instants this one run stands for. */
  readonly span: { readonly from: Date; readonly to: Date; readonly count: number } | null
  readonly failedTasks: number
  readonly progress: { readonly task: string; readonly done: number; readonly message: string | null; readonly at: Date } | null
  /** The stored lines of `ctx.log`, by turn, task and try. */
  readonly log: readonly LogView[]
  /** Those of its first start; null before it. During its first turn they are computed with the settings of this scheduler. */
  readonly settings: Settings | null
  readonly tasks: readonly TaskView[]
  readonly turns: readonly TurnView[]
}

/** Reasons for waiting. `recovery`: it came due while no node ran, and the planner has not decided yet. */
export const waitReasons = ['overlap', 'concurrency', 'rate', 'catch-up', 'pause', 'recovery'] as const

/** Why due work does not run. */
export interface WaitView {
  readonly reason: (typeof waitReasons)[number]
  /** When it is looked at again by itself. */
  readonly until: Date | null
  /** Of those that hold what it waits for, at most ten ids. */
  readonly blockers: readonly string[]
}

/** One task of an occurrence. */
export interface TaskView {
  /** The same as `ctx.taskRunId`. */
  readonly id: string
  readonly name: string
  readonly state: TaskRunState
  readonly result: unknown
  /** The start of its first attempt. */
  readonly startedAt: Date | null
  /** The end of its last attempt, once no other follows. */
  readonly endedAt: Date | null
  readonly attempts: readonly AttemptView[]
  /** The job does not have this task any more. */
  readonly retired?: true
}

/** One try of a task. */
export interface AttemptView {
  /** The same as `ctx.attemptId`. */
  readonly id: string
  /** 1 for the first try of the task. */
  readonly n: number
  readonly state: AttemptState
  readonly turn: number
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly durationMs: number | null
  readonly error: ErrorRecord | null
}

/** One stay of an occurrence on a node. */
export interface TurnView {
  readonly turn: number
  readonly end: TurnEnd
  readonly node: string | null
  readonly startedAt: Date | null
  readonly endedAt: Date
  readonly error: ErrorRecord | null
  readonly reason: string | null
}

/** One line of a list. */
export interface OccurrenceLine extends KeyView {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly entity: string | null
  /** The id of the occurrence whose handler created it. */
  readonly parent: string | null
  readonly state: OccurrenceState
  readonly source: Source
  readonly turn: number
  readonly scheduledAt: Date
  readonly dueAt: Date
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly error: ErrorRecord | null
  /** Why it was canceled, skipped or missed, where that is known. */
  readonly reason: string | null
  /** Of dead work: the cause by which `deadLetters` groups it. */
  readonly cause: string | null
}

/** The parts of a view that the history does not hold. */
export interface ViewFacts {
  readonly spec: Pick<JobSpec, 'tasks' | 'defaults' | 'settings'> | null
  /** The paths that the job hides. */
  readonly redact: readonly string[]
  /** The settings of this scheduler. */
  readonly scheduler: SettingsDiff
  /** The runs from which a replay has taken over results, the nearest first. */
  readonly origins: readonly OccurrenceHistory[]
}

export function occurrenceView(history: OccurrenceHistory, { spec, redact, scheduler, origins }: ViewFacts): Occurrence {
  const { record, state, dueAt, node, turns, attempts, progress } = history
  const { id, tenant, job, definition, version, entity, parent, refs, source, priority, replay } = record
  const last = turns.at(-1)
  const starts = [...turns, ...attempts].flatMap(({ startedAt }) => startedAt ?? []).concat(history.runningSince ?? [])
  const ends = [...turns, ...attempts].map(({ endedAt }) => endedAt)
  const frozen = turns.find((turn) => turn.attempt !== null || turn.tasks !== null)
  const isFirst = state === 'running' && !frozen
  const settings = frozen
    ? cascade(frozen.settings, record.settings)
    : isFirst
      ? cascade(scheduler, spec?.defaults, spec?.settings, record.settings)
      : null
  const graph = taskGraph(spec?.tasks ?? [], settings?.mode ?? 'sequential')
  const hasEnded = isEnd(state) || state === 'dead'
  const histories = taskHistories(graph, turns, attempts, !hasEnded).map((task, _, all) =>
    state === 'running' && mayRun(task, graph, all) ? { ...task, state: 'running' as const } : task,
  )
  // Nothing is pending in an occurrence that has ended.
  const ended = (task: TaskHistory) => (hasEnded && task.state === 'pending' ? { ...task, state: 'canceled' as const } : task)
  const tasks = histories.map(ended)
  const retired = retiredTasks(history, graph).map(ended)
  return {
    id,
    tenant,
    job,
    definition,
    version,
    ...keyView(record),
    keyVersion: record.keyVersion ?? null,
    entity,
    parent,
    refs,
    source,
    priority,
    state,
    dueAt: new Date(dueAt),
    scheduledAt: new Date(record.scheduledAt),
    createdAt: new Date(record.createdAt),
    startedAt: starts.length === 0 ? null : new Date(Math.min(...starts)),
    endedAt: hasEnded ? date(last?.endedAt) : null,
    updatedAt: new Date(Math.max(record.createdAt, ...starts, ...ends, progress?.at ?? 0)),
    payload: decodePayload(record.payload),
    redact,
    result: state === 'completed' ? resultOf(graph, history, origins) : undefined,
    error: state === 'completed' ? null : (last?.error ?? null),
    node: node ?? last?.node ?? null,
    reason: last?.reason ?? null,
    wait: waitView(history),
    replay,
    span: record.span && { from: new Date(record.span.from), to: new Date(record.span.to), count: record.span.count },
    failedTasks: tasks.filter((task) => task.state === 'failed' || task.state === 'timeout').length,
    progress: progress && { ...progress, at: new Date(progress.at) },
    log: history.logs.map(logView),
    settings,
    tasks: [
      ...tasks.map((task) => taskView(id, task)),
      ...retired.map((task) => ({ ...taskView(id, task), retired: true as const })),
    ],
    turns: turns.map(turnView),
  }
}

/** The value of the last task; of a graph with several last tasks the values of all tasks, by name. */
function resultOf(graph: TaskGraph, history: OccurrenceHistory, origins: readonly OccurrenceHistory[]): unknown {
  if (endsOf(graph).length < 2) return decodePayload(history.turns.at(-1)?.result ?? null)
  const runs = [history, ...origins].map(({ turns, attempts }) => taskHistories(graph, turns, attempts))
  const resultIn = (task: string) =>
    runs.map((tasks) => tasks.find((one) => one.task === task)?.result ?? null).find((result) => result !== null)
  return Object.fromEntries([...graph.keys()].map((task) => [task, decodePayload(resultIn(task) ?? null)]))
}

/** Tasks that have records here, and that the job has lost since. */
function retiredTasks({ turns, attempts }: OccurrenceHistory, graph: TaskGraph): readonly TaskHistory[] {
  const names = [...attempts, ...turns.flatMap(({ tasks }) => tasks ?? [])].map(({ task }) => task)
  const retired = [...new Set(names)].filter((name) => !graph.has(name)).map((name) => ({ name }))
  if (retired.length === 0) return []
  // An attempt that has no record but its turn is one of a task that the job still has.
  const bare = turns.map((turn) => ({ ...turn, attempt: null, end: 'released' as const }))
  return taskHistories(taskGraph(retired, 'parallel'), bare, attempts)
}

function waitView({ state, wait, blockers }: OccurrenceHistory): WaitView | null {
  if (state !== 'waiting' || !wait) return null
  return { reason: shownReason(wait.reason), until: date(wait.wakeAt), blockers }
}

/** `explain` tells the catch-up of the job from that of all jobs. */
function shownReason(reason: WaitRecord['reason']): WaitView['reason'] {
  if (reason === 'stranded') return 'recovery'
  return reason === 'catch-up-total' ? 'catch-up' : reason
}

function taskView(occurrence: string, { task, state, result, attempts }: TaskHistory): TaskView {
  const id = taskRunId(occurrence, task)
  const isOver = state !== 'pending' && state !== 'running'
  return {
    id,
    name: task,
    state,
    result: decodePayload(result),
    startedAt: date(attempts.find(({ startedAt }) => startedAt !== null)?.startedAt),
    endedAt: isOver ? date(attempts.at(-1)?.endedAt) : null,
    attempts: attempts.map((attempt) => attemptView(id, attempt)),
  }
}

function turnView({ turn, end, node, startedAt, endedAt, error, reason }: TurnRecord): TurnView {
  return { turn, end, node, startedAt: date(startedAt), endedAt: new Date(endedAt), error, reason }
}

/** A node starts every task that may start: it runs. */
function mayRun({ task, state }: TaskHistory, graph: TaskGraph, all: readonly TaskHistory[]): boolean {
  return (
    state === 'pending' &&
    (graph.get(task) ?? []).every((before) => all.find((other) => other.task === before)?.state !== 'pending')
  )
}

export function occurrenceLine({ key, unique, ...line }: OccurrenceSummary): OccurrenceLine {
  return {
    ...line,
    ...keyView({ key, unique }),
    scheduledAt: new Date(line.scheduledAt),
    dueAt: new Date(line.dueAt),
    createdAt: new Date(line.createdAt),
    startedAt: date(line.startedAt),
    endedAt: date(line.endedAt),
  }
}

function attemptView(run: string, { n, state, turn, startedAt, endedAt, error }: AttemptHistory): AttemptView {
  return {
    id: attemptId(run, n),
    n,
    state,
    turn,
    startedAt: date(startedAt),
    endedAt: date(endedAt),
    durationMs: startedAt === null || endedAt === null ? null : endedAt - startedAt,
    error,
  }
}

function date(ms: number | null | undefined): Date | null {
  return ms === null || ms === undefined ? null : new Date(ms)
}
