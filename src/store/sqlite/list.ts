// Lists, newest first. Each is merged of sources that an index holds in the right order, so none walks the rows of other jobs or
// states: the more rows there are, the more a list must not depend on them.
import type { OccurrenceSummary } from '../../model/occurrence.ts'
import { decodeCursor, encodeCursor, type OccurrenceFilter, type Page } from '../query.ts'
import { type JobFilter, seriesWhere } from '../rules/sql/conditions.ts'
import { type RangeRow, rangeRecord } from '../rules/sql/range-row.ts'
import type { RangeRecord } from '../store.ts'
import { merge } from './connection/merge.ts'
import type { Transaction } from './connection/transaction.ts'
import { sourcesFor } from './list/sources.ts'
import { summaries } from './list/summaries.ts'

export function list(tx: Transaction, filter: OccurrenceFilter): Page<OccurrenceSummary> {
  const below = filter.cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(filter.cursor)
  const refs = merge(sourcesFor(tx, filter, below), (a, b) => a > b, filter.limit + 1)
  const page = summaries(tx, refs.slice(0, filter.limit))
  const last = refs[page.length - 1]
  return { items: page, cursor: last !== undefined && refs.length > page.length ? encodeCursor(last) : null }
}

export function listRanges(tx: Transaction, { limit, ...filter }: JobFilter & { limit: number }): readonly RangeRecord[] {
  const { where, values } = seriesWhere(filter)
  const rows = tx.all<RangeRow>(
    `SELECT s.tenant, s.job, r.version, r.from_at, r.to_at, r.count, r.state, r.reason, r.recorded_at
      FROM punctual_range r JOIN punctual_series s ON s.ref = r.series WHERE ${where} ORDER BY r.seq DESC LIMIT ? + 0`,
    ...values,
    limit,
  )
  return rows.map(rangeRecord)
}
