import type { OccurrenceRecord } from '../../model/occurrence.ts'

/**
 * The record of an occurrence that is moved to another due instant. Enqueued work that has not begun stands for its new instant; an
 * instant of a schedule, a replay and a run of a backfill go on standing for theirs.
 */
export function movedRecord(record: OccurrenceRecord, hasBegun: boolean, dueAt: number): OccurrenceRecord {
  const { source } = record
  const standsForDue = source === 'deferred' || source === 'manual' || source === 'timer'
  return standsForDue && !hasBegun ? { ...record, scheduledAt: dueAt } : record
}
