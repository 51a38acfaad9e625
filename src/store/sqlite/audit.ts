import type { AuditEntry } from '../../model/audit.ts'
import type { AuditedOccurrence } from '../rules/audit.ts'
import * as shared from '../rules/sql/audit.ts'
import type { AuditQuery } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'
import { cancelOf } from './occurrence/ends.ts'
import type { Entry } from './occurrence/entry.ts'

/** Appends what is not there yet: an act that is repeated is written once. */
export function appendAudit(tx: Transaction, ...entries: readonly (AuditEntry | null)[]): void {
  if (entries.some((entry) => entry !== null)) tx.runSteps(shared.appendAudit(tx.now, entries))
}

/** The entry as the audit shows it. A cancel of running work is a request: it shows as `canceling`. */
export function audited(tx: Transaction, { id, ref, record, state, dueAt, isIdle }: Entry): AuditedOccurrence {
  const { tenant, job } = record
  const shown = state === 'running' && cancelOf(tx, ref) ? 'canceling' : state
  return { id, tenant, job, state: shown, dueAt: isIdle ? dueAt : 0 }
}

export function listAudit(tx: Transaction, query: AuditQuery): readonly unknown[] {
  return tx.runSteps(shared.listAudit(query))
}
