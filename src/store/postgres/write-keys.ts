// Who holds which key after a verb, and which keys stand for live occurrences.
import { isEnd } from '../../model/lifecycle.ts'
import { stateOf } from '../ledger/ledger.ts'
import { deleteRows, insertRows } from './batch.ts'
import type { Change } from './changes.ts'
import type { Before, Slice } from './slice.ts'

export function writeKeys(slice: Slice, changes: readonly Change[], gone: readonly Before[]): Promise<void>[] {
  const { session } = slice
  const freed = [
    ...changes.flatMap(({ entry, before }) =>
      [...(before?.holding ?? [])].filter((key) => !entry.holding.has(key)).map((key) => [entry.ref, key] as const),
    ),
    ...gone.flatMap(({ entry, holding }) => [...holding].map((key) => [entry.ref, key] as const)),
  ]
  // In the order in which the keys were taken.
  const taken = [...slice.ledger.holders].flatMap(([key, holders]) =>
    [...holders].filter(({ ref }) => !slice.before.get(ref)?.holding.has(key)).map(({ ref }) => [key, ref] as const),
  )
  const live = changes.filter(({ entry }) => entry.record.unique === 'live' && entry.record.key !== null)
  return [
    deleteRows(slice, 'hold', { ref: 'bigint', key: 'text' }, freed),
    insertRows(session, 'hold', { key: 'text', ref: 'bigint' }, taken),
    insertRows(
      session,
      'rate_start',
      { key: 'text', at: 'float8', until: 'float8' },
      slice.started.map(({ key, at, until }) => [key, at, until]),
    ),
    deleteRows(
      slice,
      'live_key',
      { series: 'int', key: 'text', ref: 'bigint' },
      live
        .filter(({ entry, before }) => before && !isEnd(before.state) && isEnd(stateOf(entry)))
        .map(({ entry, series }) => [series, entry.record.key, entry.ref]),
    ),
    insertRows(
      session,
      'live_key',
      { series: 'int', key: 'text', ref: 'bigint' },
      live
        .filter(({ entry, before }) => before === null && !isEnd(stateOf(entry)))
        .map(({ entry, series }) => [series, entry.record.key, entry.ref]),
    ),
  ]
}
