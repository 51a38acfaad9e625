// The audit row of each kind of change. Before and after name versions and states, never payloads.
import type { AuditEntry } from '../../model/audit.ts'
import type { JobRecord } from '../../model/job.ts'
import type { PauseRecord } from '../../model/pause.ts'
import type { AuditNote } from '../messages/audit.ts'
import type { CreatedRow, NewOccurrence } from '../messages/create.ts'
import type { GateAnswer } from '../messages/gate.ts'
import type { JobPut, JobPutAnswer, PauseAnswer, PauseRequest } from '../messages/job.ts'
import type { TokenRecord } from '../messages/token.ts'

/** Rows that one segment takes at most. */
export const mostPerSegment = 1000

interface Change {
  readonly target: string
  readonly tenant: string | null
  readonly job: string | null
  readonly before: object | null
  readonly after: object | null
}

function auditEntry({ act, actor, action, reason }: AuditNote, change: Change): AuditEntry {
  const { target, tenant, job, before, after } = change
  return {
    ...{ act, target, actor, action, tenant, job, reason, event: null, refs: null, data: null },
    before: before && JSON.stringify(before),
    after: after && JSON.stringify(after),
  }
}

/** Null where the put has changed nothing. */
export function putAudit(
  known: JobRecord | null,
  { audit, tenant, name }: JobPut,
  { outcome, job }: JobPutAnswer,
): AuditEntry | null {
  if (!audit || !job || outcome === 'conflict') return null
  const [before, after] = [known && shownJob(known), shownJob(job)]
  if (outcome === 'unchanged' && JSON.stringify(before) === JSON.stringify(after)) return null
  return auditEntry(audit, { target: name, tenant, job: name, before, after })
}

function shownJob({ version, spec: { isEnabled, isRetired }, override }: JobRecord): object {
  return { version, enabled: isEnabled, retired: isRetired, overridden: Object.keys(override ?? {}).toSorted() }
}

export function pauseAudit(
  before: PauseRecord | undefined,
  { audit, tenant, job }: PauseRequest,
  { outcome, pause }: PauseAnswer,
): AuditEntry | null {
  if (!audit || outcome === 'unchanged') return null
  return auditEntry(audit, { target: job ?? '', tenant, job, before: shownPause(before), after: shownPause(pause) })
}

function shownPause(pause: PauseRecord | null | undefined): object | null {
  return pause ? { from: pause.from, until: pause.to, reason: pause.reason, by: pause.by } : null
}

/** Whether the row has created or changed something. */
export function isChange(outcome: CreatedRow['outcome']): boolean {
  return outcome !== 'existing' && outcome !== 'tombstoned' && outcome !== 'refused'
}

/** One entry for each row that the call has created or changed. */
export function createAudits(
  audit: AuditNote | undefined,
  rows: readonly NewOccurrence[],
  answers: readonly CreatedRow[],
): AuditEntry[] {
  if (!audit) return []
  return rows.flatMap(({ tenant, job, source, replay }, at) => {
    const { id, outcome } = answers[at] as CreatedRow
    if (!isChange(outcome)) return []
    const after = { outcome, source, ...(replay && { origin: replay.origin }) }
    return auditEntry(audit, { target: id, tenant, job, before: null, after })
  })
}

/** An occurrence as the audit shows it. */
export interface AuditedOccurrence {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly state: string
  readonly dueAt: number
}

/** Null where the state and the due time are the same as before. */
export function occurrenceAudit(
  audit: AuditNote | undefined,
  before: AuditedOccurrence,
  after: Pick<AuditedOccurrence, 'state' | 'dueAt'> | null,
): AuditEntry | null {
  if (!audit) return null
  const { id, tenant, job, state, dueAt } = before
  if (after && after.state === state && after.dueAt === dueAt) return null
  const shown = after && { state: after.state, ...(after.dueAt !== dueAt && { dueAt: after.dueAt }) }
  const own = { state, ...(after && after.dueAt !== dueAt && { dueAt }) }
  return auditEntry(audit, { target: id, tenant, job, before: own, after: shown })
}

/** Of a token that was created or revoked. Its hash stays out of it. */
export function tokenAudit(
  audit: AuditNote | undefined,
  { id, name, role, tenants }: TokenRecord,
  isNew: boolean,
): AuditEntry | null {
  if (!audit) return null
  const shown = { name, role, ...(tenants && { tenants }) }
  return auditEntry(audit, { target: id, tenant: null, job: null, before: isNew ? null : shown, after: isNew ? shown : null })
}

/** Null where every node that was named drained before. */
export function drainAudit(audit: AuditNote | undefined, target: string, boots: readonly string[]): AuditEntry | null {
  if (!audit || boots.length === 0) return null
  return auditEntry(audit, { target, tenant: null, job: null, before: null, after: { draining: boots.toSorted() } })
}

export function gateAudit(audit: AuditNote | undefined, happened: boolean, { outcome, gate }: GateAnswer): AuditEntry | null {
  if (!audit || outcome !== 'resolved' || !gate) return null
  const { tenant, scope, key, occurrence } = gate
  const after = { happened, ...(occurrence !== null && { occurrence }) }
  return auditEntry(audit, { target: `${scope}/${key}`, tenant, job: null, before: { state: 'unknown' }, after })
}

export function deleteJobAudit(audit: AuditNote | undefined, job: JobRecord): AuditEntry | null {
  const { tenant, name } = job
  return audit ? auditEntry(audit, { target: name, tenant, job: name, before: shownJob(job), after: null }) : null
}

/** A pass on a person's request. */
export function pruneAudit(audit: AuditNote | undefined, pruned: number): AuditEntry | null {
  if (!audit || pruned === 0) return null
  return auditEntry(audit, { target: '', tenant: null, job: null, before: null, after: { pruned } })
}
