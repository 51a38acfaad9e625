// Rows and the records they hold. What most rows have none of (refs, settings, holds and the like) is NULL then.
import { definitionOf } from '../../model/job.ts'
import type { AttemptState, Source, TurnEnd } from '../../model/lifecycle.ts'
import type { AttemptRecord, OccurrenceRecord, TurnRecord, UniqueKind } from '../../model/occurrence.ts'
import type { Columns, Value } from './batch.ts'
import type { Dictionary } from './dictionary.ts'

export const occurrenceColumns = `o.ref, o.id, o.series, o.kind, o.version, o.source, o.key, o.uniqueness, o.entity, o.refs, o.settings,
  o.priority, o.holds, o.span, o.replay, o.start_within_ms, o.scheduled_at, o.created_at, o.payload`
/** How many columns that is. */
export const occurrenceWidth = 19

/** A transaction of the caller's may give big numbers as texts or as BigInt: hence `Number` wherever one is read. */
export type OccurrenceRow = [
  ref: number,
  id: string,
  series: number,
  kind: number,
  version: number,
  source: Source,
  key: string | null,
  unique: UniqueKind,
  entity: string | null,
  refs: string | null,
  settings: string | null,
  priority: number,
  holds: string | null,
  span: string | null,
  replay: string | null,
  startWithinMs: number | null,
  scheduledAt: number,
  createdAt: number,
  payload: string | null,
]

/** Its kind and series must be known to the dictionary. */
export function occurrenceRecord(dictionary: Dictionary, row: readonly [...OccurrenceRow, ...unknown[]]): OccurrenceRecord {
  // By number: a pattern with brackets would make an iterator for each row.
  const { 1: id, 2: series, 3: kind, 4: version, 5: source, 6: key, 7: unique, 8: entity, 9: refs, 10: settings } = row
  const { 11: priority, 12: holds, 13: span, 14: replay, 15: startWithinMs, 16: scheduledAt, 17: createdAt, 18: payload } = row
  const { tenant, job } = dictionary.seriesByRef(series)
  const name = dictionary.kindName(kind)
  return {
    id,
    tenant,
    job,
    definition: definitionOf(name),
    kind: name,
    version,
    source,
    key,
    unique,
    entity,
    refs: refs === null ? {} : JSON.parse(refs),
    payload,
    settings: fromJson(settings),
    priority,
    holds: fromJson(holds),
    span: fromJson(span),
    replay: fromJson(replay),
    startWithinMs,
    scheduledAt,
    createdAt,
  }
}

export const turnColumns =
  't.ref, t.turn, t."end", t.node, t.started_at, t.ended_at, t.result, t.error, t.attempt, t.settings, t.tasks, t.reason, t.due_at'

export type TurnRow = [
  ref: number,
  turn: number,
  end: TurnEnd,
  node: number | null,
  startedAt: number | null,
  endedAt: number,
  result: string | null,
  error: string | null,
  attempt: AttemptState | null,
  settings: string | null,
  tasks: string | null,
  reason: string | null,
  dueAt: number,
]

/** Its node must be known to the dictionary. */
export function turnRecord(dictionary: Dictionary, row: TurnRow): TurnRecord {
  const [, turn, end, node, startedAt, endedAt, result, error, attempt, settings, tasks, reason] = row
  return {
    turn,
    end,
    node: node === null ? null : dictionary.bootName(node),
    startedAt,
    endedAt,
    result,
    error: fromJson(error),
    attempt,
    settings: fromJson(settings),
    tasks: fromJson(tasks),
    reason,
  }
}

export const attemptColumns = 'ref, turn, task, n, state, started_at, ended_at, result, error, retry_at'

export type AttemptRow = [
  ref: number,
  turn: number,
  task: string,
  n: number,
  state: AttemptState,
  startedAt: number,
  endedAt: number,
  result: string | null,
  error: string | null,
  retryAt: number | null,
]

export function attemptRecord([, turn, task, n, state, startedAt, endedAt, result, error, retryAt]: AttemptRow): AttemptRecord {
  return { turn, task, n, state, startedAt, endedAt, result, error: fromJson(error), retryAt }
}

/** The columns in which attempts are written. */
export const attemptTypes: Columns = {
  ref: 'bigint',
  turn: 'int',
  task: 'text',
  n: 'int',
  state: 'punctual.attempt_state',
  started_at: 'float8',
  ended_at: 'float8',
  retry_at: 'float8',
  error: 'text',
  result: 'text',
}

export function attemptValues(
  ref: number,
  { turn, task, n, state, startedAt, endedAt, retryAt, error, result }: AttemptRecord,
): readonly Value[] {
  return [ref, turn, task, n, state, startedAt, endedAt, retryAt, toJson(error), result]
}

export function toJson(value: object | null | undefined): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}

export function fromJson<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T)
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a text can be the id of an occurrence at all: the server refuses to compare others. */
export function isUuid(text: string): boolean {
  return uuid.test(text)
}
