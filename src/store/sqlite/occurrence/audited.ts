import type { AuditedOccurrence } from '../../rules/audit.ts'
import type { Transaction } from '../connection/transaction.ts'
import { cancelOf } from './ends.ts'
import type { Entry } from './entry.ts'

/** The entry as the audit shows it. A cancel of running work is a request: it shows as `canceling`. */
export function audited(tx: Transaction, { id, ref, record, state, dueAt, place }: Entry): AuditedOccurrence {
  const { tenant, job } = record
  const isIdle = place !== 'claimed' && place !== 'ended'
  const shown = state === 'running' && cancelOf(tx, ref) ? 'canceling' : state
  return { id, tenant, job, state: shown, dueAt: isIdle ? dueAt : 0 }
}
