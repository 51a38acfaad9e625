// Ends that no executor brings about: pending work that is canceled, dead work that is discarded, and what rescue buries.
// Whoever brings them about runs `onComplete` where it has the definition, and tells.
import type { AnyDefinition } from '../model/definition.ts'
import { tasksOf } from '../model/definition.ts'
import type { OccurrenceEvent } from '../model/events.ts'
import { type TaskHistory, taskHistories } from '../model/history.ts'
import type { TaskRunState } from '../model/lifecycle.ts'
import type { OccurrenceHistory, TurnRecord } from '../model/occurrence.ts'
import type { ExecutionReport, TaskReport } from '../model/report.ts'
import { cascade, type Settings } from '../model/settings.ts'
import { taskGraph } from '../model/task-graph.ts'
import type { Which } from '../store/store.ts'
import type { Env } from './env.ts'
import { runHook } from './hooks.ts'

/**
 * Runs `onComplete` and emits the event for an occurrence that has ended as canceled or dead; false when it has not.
 * `unlessRun`: leaves out what a node ended, since that node has told.
 */
export async function announceUnattendedEnd(env: Env, which: Which, { unlessRun = false } = {}): Promise<boolean> {
  const history = await env.store.get(which)
  const end = history?.turns.at(-1)
  if (!history || (history.state !== 'canceled' && history.state !== 'dead') || !end || (unlessRun && end.node !== null))
    return false
  const { id, tenant, job, key, source, definition: kind } = history.record
  const event: OccurrenceEvent = { id, tenant, job, key, source, turn: end.turn }
  const definition = env.registry.definition(kind)
  const report = definition && reportOf(env, history, end, definition)
  const onComplete = definition?.options.onComplete
  if (report && onComplete)
    await runHook(
      env.clock,
      { name: 'onComplete', timeoutMs: settingsOf(env, history, definition).timeoutMs, log: env.log },
      () => onComplete(report),
    )
  if (history.state === 'canceled') env.events.emit('occurrence.canceled', { ...event, reason: end.reason })
  else if (report) env.events.emit('occurrence.failed', { ...event, state: 'dead', report, error: end.error })
  return true
}

/** Whether anybody would notice: a look at the store can be spared where nobody does. */
export function isEndNoticed({ events, registry }: Env): boolean {
  return (
    events.has('occurrence.canceled') || registry.definitions.some((definition) => definition.options.onComplete !== undefined)
  )
}

function reportOf(env: Env, history: OccurrenceHistory, end: TurnRecord, definition: AnyDefinition): ExecutionReport {
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
    outcome: state as 'canceled' | 'dead',
    mode: tasks.some((task) => task.after !== undefined) ? 'graph' : settings.mode,
    onFailure: settings.onFailure,
    startedAt: startedAt === null ? null : new Date(startedAt),
    endedAt: new Date(end.endedAt),
    durationMs: startedAt === null ? 0 : end.endedAt - startedAt,
    tasks: histories.map((task) => taskReport(task, end)),
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

/** What held at the first start, or would have. */
function settingsOf({ options }: Env, { record, turns }: OccurrenceHistory, definition: AnyDefinition): Settings {
  const frozen = turns.find((turn) => turn.attempt !== null || turn.tasks !== null)
  return frozen ? cascade(frozen.settings) : cascade(options.settings, definition.settings, record.settings)
}
