import type { OccurrenceEvent, TaskEvent } from '../../model/events.ts'
import { type TaskHistory, taskHistories } from '../../model/history.ts'
import type { TurnEnd } from '../../model/lifecycle.ts'
import type { ExecutionReport } from '../../model/report.ts'
import { attemptReports } from './attempt-reports.ts'
import type { TaskRun } from './task-run.ts'
import type { Turn } from './turn.ts'

/** How the turn went, task by task. */
export function reportOf(turn: Turn, outcome: TurnEnd): ExecutionReport {
  const { record, settings, endedAt } = turn
  const startedAt = turn.startedAt ?? endedAt
  return {
    occurrenceId: record.id,
    tenant: record.tenant,
    job: record.job,
    source: record.source,
    turn: turn.n,
    outcome,
    mode: settings.mode,
    onFailure: settings.onFailure,
    startedAt: new Date(startedAt),
    endedAt: new Date(endedAt),
    durationMs: endedAt - startedAt,
    tasks: turn.runs.map((run) => run.report()),
    attempts: attemptReports(historyOf(turn)),
  }
}

/** The attempts of earlier turns and of this one, whose end is known. */
function historyOf({ shared, member, n, end, saved, attempts }: Turn): readonly TaskHistory[] {
  const turns = [...member.turns, { ...end, turn: n, node: null }]
  return taskHistories(shared.graph, turns, [...member.attempts, ...saved, ...attempts])
}

export function occurrenceEvent({ record, n }: Turn): OccurrenceEvent {
  const { id, tenant, job, key, source } = record
  return { id, tenant, job, key, source, turn: n }
}

export function taskEvent(turn: Turn, run: TaskRun): TaskEvent {
  return { ...occurrenceEvent(turn), task: run.name, attempt: run.attempts }
}
