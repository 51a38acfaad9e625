import type { Transaction } from '../connection/transaction.ts'

/** The kinds that some node serves. */
export function servedKinds(tx: Transaction): ReadonlySet<string> {
  tx.cache.served ??= readServed(tx)
  return tx.cache.served
}

function readServed(tx: Transaction): ReadonlySet<string> {
  const rows = tx.all<{ kinds: string }>('SELECT kinds FROM punctual_node')
  return new Set(rows.flatMap(({ kinds }) => JSON.parse(kinds) as string[]))
}
