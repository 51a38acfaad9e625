import type { Transaction } from '../connection/transaction.ts'

/** The kinds that some node serves. */
export function servedKinds(tx: Transaction): ReadonlySet<string> {
  const texts = tx.all<{ kinds: string }>('SELECT kinds FROM punctual_node').map(({ kinds }) => kinds)
  const text = texts.join('\n')
  const known = tx.connection.served
  if (known?.text === text) return known.kinds
  const kinds = new Set(texts.flatMap((one) => JSON.parse(one) as string[]))
  tx.connection.served = { text, kinds }
  return kinds
}
