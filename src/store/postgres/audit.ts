import type { AuditEntry } from '../../model/audit.ts'
import { type AuditedOccurrence, occurrenceAudit } from '../rules/audit.ts'
import * as shared from '../rules/sql/audit.ts'
import type { AuditNote, AuditQuery } from '../store.ts'
import { column } from './connection/arrays.ts'
import { each } from './connection/by-key.ts'
import { runSteps, type Session, tryLock } from './connection/session.ts'
import { type Context, readNow } from './context.ts'
import { currentRows, currentState } from './occurrence/current-rows.ts'

/** Appends what is not there yet: an act that is repeated is written once. */
export async function appendAudit(
  session: Session,
  { now }: Pick<Context, 'now'>,
  entries: readonly (AuditEntry | null)[],
): Promise<void> {
  if (entries.some((entry) => entry !== null)) await runSteps(session, shared.appendAudit(now(), entries))
}

/** Writes what an act did to occurrences: their states and due times before and after it. */
export async function auditedOccurrences<Answer>(
  session: Session,
  context: Context,
  { audit, refs }: { readonly audit: AuditNote | undefined; readonly refs: readonly number[] },
  act: () => Promise<Answer>,
): Promise<Answer> {
  if (!audit || refs.length === 0) return act()
  const before = await occurrencesOf(session, refs)
  const answer = await act()
  const after = await occurrencesOf(session, refs)
  const entries = [...before].map(([ref, one]) => occurrenceAudit(audit, one, after.get(ref) ?? null))
  await appendAudit(session, context, entries)
  return answer
}

interface OccurrenceRow {
  readonly ref: number | string
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly state: string
  readonly due_at: number | string
  readonly is_canceling: boolean
}

const describe = `SELECT o.ref, o.id, s.tenant, s.job, ${currentState} AS state, coalesce(r.due_at, w.due_at, 0)::float8 AS due_at,
    (SELECT true FROM punctual.cancel_request q WHERE q.ref = o.ref) IS NOT NULL AS is_canceling
  FROM unnest($1::bigint[]) k (ref) CROSS JOIN ${each('occurrence e', 'e.ref = k.ref')} o
  CROSS JOIN ${each('series e', 'e.ref = o.series')} s ${currentRows} ORDER BY k.ref`

/** A cancel of running work is a request: it shows as `canceling`. */
export async function occurrencesOf(session: Session, refs: readonly number[]): Promise<Map<number, AuditedOccurrence>> {
  const rows = await session.rows<OccurrenceRow>(describe, [column(refs)])
  return new Map(
    rows.map(({ ref, id, tenant, job, state, due_at, is_canceling }) => {
      const shown = state === 'running' && is_canceling ? 'canceling' : state
      return [Number(ref), { id, tenant, job, state: shown, dueAt: Number(due_at) }]
    }),
  )
}

export async function sealAudit(context: Context, before: number | null): Promise<void> {
  await context.db.transaction(async (session) => {
    if (!(await tryLock(session, 'audit'))) return
    await runSteps(session, shared.sealAudit(await readNow(session, context), before))
  })
}

export function listAudit({ db }: Context, query: AuditQuery): Promise<readonly unknown[]> {
  return runSteps(db, shared.listAudit(query))
}
