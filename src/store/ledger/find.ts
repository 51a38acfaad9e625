import { keyedId } from '../../model/ids.ts'
import type { Which } from '../store.ts'
import { type Entry, type Ledger, liveKey } from './ledger.ts'

export function find(ledger: Ledger, which: Which): Entry | null {
  if ('id' in which) {
    const entry = ledger.byId.get(which.id)
    return entry && (which.tenant === undefined || which.tenant === entry.record.tenant) ? entry : null
  }
  const known = ledger.byId.get(keyedId(which.tenant, which.job, which.key)) ?? ledger.liveKeys.get(liveKey(which))
  if (known) return known
  const { tenant, job, key } = which
  return (
    [...ledger.entries.values()].findLast(({ record }) => record.tenant === tenant && record.job === job && record.key === key) ??
    null
  )
}
