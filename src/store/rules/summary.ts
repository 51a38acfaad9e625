import { isEnd } from '../../model/lifecycle.ts'
import type { OccurrenceRecord, OccurrenceSummary, TurnRecord } from '../../model/occurrence.ts'

/** An occurrence, as far as a line of a list shows it. */
interface Listed extends Pick<OccurrenceSummary, 'state' | 'turn' | 'dueAt' | 'cause'> {
  readonly record: Pick<
    OccurrenceRecord,
    'id' | 'tenant' | 'job' | 'key' | 'unique' | 'entity' | 'parent' | 'source' | 'scheduledAt' | 'createdAt'
  >
  /** Its last turn that has ended. */
  readonly last: Pick<TurnRecord, 'startedAt' | 'endedAt' | 'error' | 'reason'> | null | undefined
}

/** The line of a list. */
export function summaryOf({ record, state, turn, dueAt, last, cause }: Listed): OccurrenceSummary {
  const { id, tenant, job, key, unique, entity, parent, source, scheduledAt, createdAt } = record
  const isOver = state === 'dead' || isEnd(state)
  return {
    ...{ id, tenant, job, key, unique, entity, parent, source, state, turn, scheduledAt, dueAt, createdAt },
    startedAt: last?.startedAt ?? null,
    endedAt: isOver ? (last?.endedAt ?? null) : null,
    error: last?.error ?? null,
    reason: isOver ? (last?.reason ?? null) : null,
    cause,
  }
}
