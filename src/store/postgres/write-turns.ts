// The end rows and attempts that a verb has added, and what was noted of turns that run.

import { toJson } from '../rows/json.ts'
import { column } from './arrays.ts'
import { attemptTypes, attemptValues } from './attempts.ts'
import { type Columns, deleteRows, insertRows } from './batch.ts'
import { type Change, seriesOf } from './changes.ts'
import type { Session } from './database.ts'
import type { Slice } from './slice.ts'

const refOnly: Columns = { ref: 'bigint' }

const turnColumns: Columns = {
  ref: 'bigint',
  turn: 'int',
  series: 'int',
  due_at: 'float8',
  end: 'punctual.turn_end',
  node: 'int',
  started_at: 'float8',
  ended_at: 'float8',
  attempt: 'punctual.attempt_state',
  settings: 'text',
  tasks: 'text',
  reason: 'text',
  error: 'text',
  result: 'text',
}

export function writeTurns(slice: Slice, changes: readonly Change[]): Promise<void>[] {
  const { session, context } = slice
  const isOver = ({ entry, before }: Change) => before !== null && entry.turns.length > before.turns
  const over = changes.filter(isOver)
  const asked = changes.filter((change) => change.entry.cancel && !change.before?.entry.cancel && !isOver(change))
  return [
    insertRows(
      session,
      'turn',
      turnColumns,
      slice.ended.map(({ entry: { ref, record }, end, dueAt }) => [
        ref,
        end.turn,
        seriesOf(slice, record),
        dueAt,
        end.end,
        end.node === null ? null : (context.dictionary.boot(end.node) ?? null),
        end.startedAt,
        end.endedAt,
        end.attempt,
        toJson(end.settings),
        toJson(end.tasks),
        end.reason,
        toJson(end.error),
        end.result,
      ]),
    ),
    insertRows(
      session,
      'attempt',
      attemptTypes,
      changes.flatMap(({ entry, before }) =>
        entry.attempts.slice(before?.attempts ?? 0).map((attempt) => attemptValues(entry.ref, attempt)),
      ),
      'ON CONFLICT DO NOTHING',
    ),
    deleteRows(
      slice,
      'start',
      refOnly,
      over.filter(({ before }) => before?.entry.start).map(({ entry }) => [entry.ref]),
    ),
    deleteRows(
      slice,
      'cancel_request',
      refOnly,
      over.filter(({ before }) => before?.entry.cancel).map(({ entry }) => [entry.ref]),
    ),
    insertRows(
      session,
      'cancel_request',
      { ref: 'bigint', turn: 'int', reason: 'text' },
      asked.map(({ entry: { ref, turn, cancel } }) => [ref, turn, cancel?.reason ?? null]),
      'ON CONFLICT (ref) DO UPDATE SET turn = excluded.turn, reason = excluded.reason',
    ),
    markClaims(session, asked),
  ]
}

/** Who ends a turn without looking for a request learns from its claim, which it locks, that there is one to be looked for. */
async function markClaims(session: Session, asked: readonly Change[]): Promise<void> {
  const ids = new Set(asked.flatMap(({ entry: { claim } }) => claim ?? []))
  if (ids.size > 0) await session.all('UPDATE punctual.claim SET asked = true WHERE id = ANY($1::text[])', [column([...ids])])
}
