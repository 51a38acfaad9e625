// The steps before the first handler of a turn. Most turns need none of them.
import type { HookContext } from '../../model/definition-options.ts'
import { type TaskHistory, taskHistories } from '../../model/history.ts'
import type { OccurrenceHistory } from '../../model/occurrence.ts'
import { currentPayload } from '../../model/upcast.ts'
import { runTurnHook } from './hooks.ts'
import type { Turn } from './turn.ts'

export function needsPreparation({ member, record, shared }: Turn): boolean {
  const { payload, onStart } = shared.runnable.definition.options
  return member.recoveries > 0 || payload !== undefined || onStart !== undefined || record.replay?.tasks != null
}

/** Returns how the turn ends when it cannot begin. */
export async function prepare(turn: Turn): Promise<'abandoned' | 'failed' | 'released' | null> {
  const { member, record, shared } = turn
  const { payload: schema, upcast = [], onStart } = shared.runnable.definition.options
  // Should it take this node down too, it is known which one has run.
  if (member.recoveries > 0) {
    const start = { startedAt: turn.startedAt as number, deadlineAt: turn.deadlineAt }
    if ((await turn.checkpoint({ attempts: [], start })) === 'lost') return 'abandoned'
    if (turn.host.isTooLate(turn)) {
      turn.startedAt = null
      return 'released'
    }
  }
  if (record.replay?.tasks) await takeOver(turn, record.replay.origin, record.replay.tasks)
  if (schema) {
    try {
      turn.payload = await currentPayload(schema, upcast, turn.payload, record.job)
    } catch (error) {
      turn.error = turn.errorOf(error)
      return 'failed'
    }
  }
  const hasStarted = member.turns.some(({ startedAt, end }) => startedAt !== null && end !== 'lost' && end !== 'stale')
  if (onStart && !hasStarted) await runTurnHook(turn, 'onStart', () => onStart(hookContext(turn)))
  return null
}

/** Of a replay of single tasks: the results of the others in the original stand. */
async function takeOver(turn: Turn, origin: string, replayed: readonly string[]): Promise<void> {
  const finished = await finishedTasks(turn, origin)
  for (const run of turn.runs) {
    if (replayed.includes(run.name)) continue
    const before = finished.get(run.name)
    if (before?.state === 'succeeded') run.succeed(before.result)
    else run.cancel(null)
  }
}

/** The state of each task where it was last tried: a replay of single tasks has only these, and the others further back. */
async function finishedTasks({ env, shared }: Turn, origin: string): Promise<ReadonlyMap<string, TaskHistory>> {
  const finished = new Map<string, TaskHistory>()
  for (let id: string | null = origin; id !== null; ) {
    const history: OccurrenceHistory | null = await env.store.get({ id })
    for (const task of taskHistories(shared.graph, history?.turns ?? [], history?.attempts ?? []))
      if (task.attempts.length > 0 && !finished.has(task.task)) finished.set(task.task, task)
    const replay = history?.record.replay
    id = replay?.tasks ? replay.origin : null
  }
  return finished
}

function hookContext({ record, member, payload, log }: Turn): HookContext {
  const { id, tenant, job, key, entity, refs, source, scheduledAt } = record
  const { lastRunAt } = member
  return {
    payload,
    tenant,
    job,
    key,
    entity,
    refs,
    source,
    occurrenceId: id,
    scheduledAt: new Date(scheduledAt),
    lastRunAt: lastRunAt === null ? null : new Date(lastRunAt),
    log,
  }
}
