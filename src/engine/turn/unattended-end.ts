// Ends that no turn on this node has brought about: work that is canceled or discarded before it runs, buried by rescue, or ended on
// a node that went down before its `onComplete` had run.
import type { AnyDefinition } from '../../model/definition.ts'
import { tasksOf } from '../../model/definition.ts'
import type { OccurrenceEvent } from '../../model/events.ts'
import { type TaskHistory, taskHistories } from '../../model/history.ts'
import type { TaskRunState, TurnEnd } from '../../model/lifecycle.ts'
import type { OccurrenceHistory, TurnRecord } from '../../model/occurrence.ts'
import type { ExecutionReport, TaskReport } from '../../model/report.ts'
import { cascade, type Settings } from '../../model/settings.ts'
import { taskGraph } from '../../model/task-graph.ts'
import type { Which } from '../../store/store.ts'
import type { Env } from '../env.ts'
import { attemptReports } from './attempt-reports.ts'
import { runHook } from './hooks.ts'

type EndEnv = Pick<Env, 'store' | 'events' | 'registry' | 'options'>

/**
 * Emits the event for an occurrence that has ended as canceled, failed or dead; false when it has not. The end of hooked work is left
 * to the node that runs its hook. `unlessRun`: leaves out what a node has ended, since that node has announced it.
 */
export async function announceUnattendedEnd(env: EndEnv, which: Which, { unlessRun = false } = {}): Promise<boolean> {
  const history = await env.store.get(which)
  const end = history?.turns.at(-1)
  if (!history || !end || !isEnded(history) || history.state === 'completed' || (unlessRun && end.node !== null)) return false
  if (!history.record.isHooked) emitEnd(env, history, end)
  return true
}

/** Runs `onComplete` of ended work, and announces the end where no node has completed it. */
export async function runEndHook(env: Env, id: string, until: AbortSignal): Promise<'done' | 'lost'> {
  const history = await env.store.get({ id })
  const end = history?.turns.at(-1)
  if (!history || !end || !isEnded(history)) return 'done'
  emitEnd(env, history, end)
  const definition = env.registry.definition(history.record.definition)
  const onComplete = definition?.options.onComplete
  if (!onComplete) return 'done'
  const { timeoutMs } = settingsOf(env, history, definition)
  return runHook(env.clock, { name: 'onComplete', timeoutMs, log: env.log, until }, () =>
    onComplete(reportOf(env, history, end, definition)),
  )
}

/** Whether an event of an unattended end has a listener, so the store is not read in vain. */
export function isEndNoticed({ events }: Pick<Env, 'events'>): boolean {
  return events.has('occurrence.canceled')
}

function isEnded({ state }: OccurrenceHistory): boolean {
  return state === 'completed' || state === 'failed' || state === 'dead' || state === 'canceled'
}

function emitEnd(env: EndEnv, history: OccurrenceHistory, end: TurnRecord): void {
  const { id, tenant, job, key, source, definition: name } = history.record
  const event: OccurrenceEvent = { id, tenant, job, key, source, turn: end.turn }
  const definition = env.registry.definition(name)
  if (history.state === 'canceled') env.events.emit('occurrence.canceled', { ...event, reason: end.reason })
  else if (definition && (history.state === 'dead' || history.state === 'failed')) {
    const report = reportOf(env, history, end, definition)
    env.events.emit('occurrence.failed', { ...event, state: history.state, report, error: end.error })
  }
}

function reportOf(env: EndEnv, history: OccurrenceHistory, end: TurnRecord, definition: AnyDefinition): ExecutionReport {
  const { record, turns, attempts, state } = history
  const settings = settingsOf(env, history, definition)
  const tasks = tasksOf(definition)
  const startedAt = turns.find((turn) => turn.startedAt !== null)?.startedAt ?? null
  const histories = taskHistories(taskGraph(tasks, settings.mode), turns, attempts)
  return {
    occurrenceId: record.id,
    tenant: record.tenant,
    job: record.job,
    source: record.source,
    turn: end.turn,
    outcome: state as TurnEnd,
    mode: settings.mode,
    onFailure: settings.onFailure,
    startedAt: startedAt === null ? null : new Date(startedAt),
    endedAt: new Date(end.endedAt),
    durationMs: startedAt === null ? 0 : end.endedAt - startedAt,
    tasks: histories.map((task) => taskReport(task, end)),
    attempts: attemptReports(histories),
  }
}

function taskReport({ task, state, attempts }: TaskHistory, end: TurnRecord): TaskReport {
  const last = attempts.at(-1)
  const wasCut = end.end === 'dead' && last?.turn === end.turn && (last.state === 'lost' || last.state === 'stale')
  const reported: TaskRunState = state !== 'pending' ? state : wasCut ? 'failed' : 'canceled'
  const error = wasCut ? end.error : (last?.error ?? null)
  return {
    task,
    state: reported,
    attempts: attempts.length,
    durationMs: attempts.reduce(
      (sum, { startedAt, endedAt }) => sum + (startedAt === null || endedAt === null ? 0 : endedAt - startedAt),
      0,
    ),
    ...(error !== null && reported !== 'succeeded' && { error }),
  }
}

/** The settings of the first start, or those that would hold. */
function settingsOf(
  { options }: Pick<Env, 'options'>,
  { record, turns }: OccurrenceHistory,
  definition: AnyDefinition,
): Settings {
  const frozen = turns.find((turn) => turn.attempt !== null || turn.tasks !== null)
  return frozen ? cascade(frozen.settings) : cascade(options.settings, definition.settings, record.settings)
}
