// The records of new occurrences.
import { defaultTenant, type JobSpec, kindOf, type VersionRecord, versionAt } from '../../model/job.ts'
import { declaredLimits, inDoorOrder } from '../../model/limit.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import type { NewOccurrence } from '../messages/create.ts'
import type { JobPlan, PlannedOccurrence } from '../messages/plan.ts'

/** The version that a new row belongs to: the given one, else the one in force; 0 for an unknown job. */
export function versionFor(row: NewOccurrence, versions: readonly VersionRecord[] | undefined, now: number): number {
  return row.version ?? (versions ? versionAt(versions, now).version : 0)
}

/** The job whose spec stands in when the row's tenant has no such job: the definition's own. */
export function ownJobOf({ definition }: NewOccurrence): { readonly tenant: string; readonly name: string } {
  return { tenant: defaultTenant, name: definition }
}

/** The record of a created row. `spec`: that of its version, else what the definition's own job says now. */
export function draftCreated(
  row: NewOccurrence,
  { version, spec, dueAt, now }: { version: number; spec: JobSpec | undefined; dueAt: number; now: number },
): OccurrenceRecord {
  const { due: _, onConflict: __, limits, publish: own, ...given } = row
  const isDeclared = limits === 'declared'
  // A process that does not know the job may have guessed its definition from the name; the job knows better.
  const definition = (isDeclared ? spec?.definition : null) ?? row.definition
  const declared = isDeclared ? declaredLimits(spec, row) : { limits, startWithinMs: row.startWithinMs }
  const publish = isDeclared ? spec?.publish : own
  return {
    ...given,
    ...(publish !== undefined && { publish }),
    limits: declared.limits && inDoorOrder(declared.limits),
    startWithinMs: declared.startWithinMs,
    isHooked: isDeclared ? spec?.isHooked === true : row.isHooked,
    definition,
    kind: spec?.definition === definition ? kindOf(spec) : definition,
    span: null,
    version,
    scheduledAt: row.scheduledAt ?? dueAt,
    createdAt: now,
  }
}

/** The record of a planned instant, by the spec of its version. */
export function draftPlanned(
  { tenant, name, spec }: { tenant: string; name: string; spec: JobSpec },
  { id, at, version, source, priority, limits, span, startWithinMs }: PlannedOccurrence,
  now: number,
): OccurrenceRecord {
  return {
    id,
    tenant,
    job: name,
    definition: spec.definition,
    kind: kindOf(spec),
    version,
    source,
    key: null,
    unique: 'ever',
    entity: null,
    parent: null,
    refs: {},
    payload: spec.payload,
    settings: null,
    priority,
    limits: limits && inDoorOrder(limits),
    span,
    replay: null,
    startWithinMs,
    isHooked: spec.isHooked === true,
    ...(spec.publish !== undefined && { publish: spec.publish }),
    scheduledAt: at,
    createdAt: now,
  }
}

/** The record of a stranded instant that runs after all. */
export function revivedRecord(record: OccurrenceRecord, { limits, span }: JobPlan['revive'][number]): OccurrenceRecord {
  return { ...record, source: 'recovery', limits: limits && inDoorOrder(limits), span }
}
