import type { CancelAnswer, CancelRequest } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'
import { find } from './find.ts'
import { endUnattended, requestCancel } from './occurrence/ends.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'

export function cancel(tx: Transaction, { which, reason }: CancelRequest): readonly CancelAnswer[] {
  const found = 'entity' in which ? ofEntity(tx, which) : [find(tx, which)].filter((entry) => entry !== null)
  return found.map((entry) => ({ id: entry.id, outcome: cancelOne(tx, entry, reason) }))
}

function ofEntity(tx: Transaction, { tenant, job, entity }: { tenant: string; job: string; entity: string }): Entry[] {
  const rows = tx.all<{ ref: number }>(
    'SELECT ref FROM punctual_occurrence WHERE series = ? AND entity = ? ORDER BY ref',
    tx.names.findSeries(tenant, job)?.ref ?? null,
    entity,
  )
  return rows.map(({ ref }) => readEntry(tx, ref) as Entry).filter(({ place }) => place !== 'ended')
}

function cancelOne(tx: Transaction, entry: Entry, reason: string | null): CancelAnswer['outcome'] {
  if (entry.place === 'claimed') {
    requestCancel(tx, entry, reason)
    return 'canceling'
  }
  if (entry.place === 'ended') return entry.state === 'canceled' ? 'canceled' : 'ended'
  endUnattended(tx, entry, 'canceled', reason)
  return 'canceled'
}
