// Lines of occurrences as they go over the line.
import { keyView } from '../../client/keys.ts'
import { causeOf } from '../../model/cause.ts'
import { cut } from '../../model/cut.ts'
import { withoutStack } from '../../model/error-record.ts'
import type { OccurrenceSummary } from '../../model/occurrence.ts'
import type { ErrorRecord } from '../../model/report.ts'
import type { WireOccurrenceLine } from '../wire.ts'

/** Work that is due and has not started so long after is late. */
export const graceMs = 60_000

export function iso(at: number): string {
  return new Date(at).toISOString()
}

export function isoOrNull(at: number | Date | null | undefined): string | null {
  if (at === null || at === undefined) return null
  return (typeof at === 'number' ? new Date(at) : at).toISOString()
}

export function isLate({ state, dueAt }: { state: string; dueAt: number }, now: number): boolean {
  return (state === 'pending' || state === 'retrying') && dueAt < now - graceMs
}

/** Stacks name files of the server: only lists of one occurrence have them. */
export function wireLine(summary: OccurrenceSummary, now: number): WireOccurrenceLine {
  const { id, tenant, job, entity, state, source, turn, scheduledAt, dueAt, createdAt, startedAt, endedAt, error, reason } =
    summary
  const hasFailed = error !== null && (state === 'dead' || state === 'failed')
  return {
    id,
    tenant,
    job,
    ...keyView(summary),
    entity,
    state,
    late: isLate(summary, now),
    source,
    turn,
    scheduledAt: iso(scheduledAt),
    dueAt: iso(dueAt),
    createdAt: iso(createdAt),
    startedAt: isoOrNull(startedAt),
    endedAt: isoOrNull(endedAt),
    tookMs: startedAt !== null && endedAt !== null ? Math.max(0, endedAt - startedAt) : null,
    error: state === 'completed' ? null : wireError(error, false),
    reason,
    cause: hasFailed ? causeOf(error) : null,
  }
}

type WireError = NonNullable<WireOccurrenceLine['error']>

/** A failure with its stacks, which name files of the server, or without. */
export function wireError(error: ErrorRecord | null, hasStacks: boolean): WireError | null {
  if (error === null) return null
  return (hasStacks ? error : withoutStack(error)) as WireError
}

/** A failure in one line: its name and message. */
export function errorLine(error: ErrorRecord | null): string | null {
  if (!error) return null
  const { name, message } = error
  return cut(name && name !== 'Error' ? `${name}: ${message}` : message, 300)
}
