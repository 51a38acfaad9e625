import type { Which } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'

/** The occurrence with the id, or the live one with the key, else the newest. */
export function find(tx: Transaction, which: Which): Entry | null {
  if ('id' in which) {
    const ref = tx.refs.find(which.id)
    const entry = ref === null ? null : readEntry(tx, ref)
    return entry && (which.tenant === undefined || which.tenant === entry.record.tenant) ? entry : null
  }
  const series = tx.names.findSeries(which.tenant, which.job)?.ref
  if (series === undefined) return null
  // Of a key that may be used only once, the newest is the only one that can be live.
  const newest = [
    which.unique === 'live' ? null : newestOf(tx, series, which.key, 0),
    which.unique === 'ever' ? null : newestOf(tx, series, which.key, 1),
  ].filter((entry) => entry !== null)
  const live = which.unique === 'ever' ? null : newestLive(tx, series, which.key)
  const found = [...newest, ...(live ? [live] : [])].sort((a, b) => a.ref - b.ref)
  return found.findLast(({ place }) => place !== 'ended') ?? found.at(-1) ?? null
}

/** The newest with a key of this kind. */
export function newestOf(tx: Transaction, series: number, key: string, live: 0 | 1): Entry | null {
  const row = tx.one<{ ref: number }>(
    'SELECT ref FROM punctual_occurrence WHERE series = ? AND key = ? AND live = ? ORDER BY ref DESC LIMIT 1',
    series,
    key,
    live,
  )
  return row ? readEntry(tx, row.ref) : null
}

function newestLive(tx: Transaction, series: number, key: string): Entry | null {
  const row = tx.one<{ ref: number }>(
    'SELECT ref FROM punctual_live_key WHERE series = ? AND key = ? ORDER BY ref DESC LIMIT 1',
    series,
    key,
  )
  return row ? readEntry(tx, row.ref) : null
}
