// Where a list finds its refs: tables that one index holds in the order of `ref`.
import type { OccurrenceState } from '../../../model/lifecycle.ts'
import type { OccurrenceFilter } from '../../query.ts'
import { running, type StoredMember } from '../claim/claim-row.ts'
import type { Source } from '../connection/merge.ts'
import type { Transaction } from '../connection/transaction.ts'
import { type Entry, readEntry } from '../occurrence/entry.ts'
import type { RefRange } from '../schema/blocks.ts'
import { seriesWhere } from '../schema/series-filter.ts'
import { type CountedState, countedStates } from '../schema/tables.ts'

/** A table, and what stands at the head of its index. */
interface Origin {
  readonly from: string
  readonly where: string
  readonly values: readonly (string | number)[]
}

export function sourcesFor(tx: Transaction, filter: OccurrenceFilter, below: number): Source<number>[] {
  const { tenant, job, states, key, entity, parent, cause } = filter
  const window = windowOf(tx, filter)
  const table = (origin: Origin) => tableSource(tx, origin, window, below)
  if ([tenant, job, states, key, entity, parent, cause].every((part) => part === undefined))
    return [table({ from: 'punctual_occurrence s', where: '1', values: [] })]
  if (parent !== undefined) return [matching(tx, table(ofParent(parent)), filter)]
  const series = matchingSeries(tx, filter)
  if (key !== undefined || entity !== undefined)
    return series.map(({ ref }) => inStates(tx, table(ofKeyOrEntity(ref, filter)), filter))
  if (cause !== undefined) return series.map(({ ref }) => table(ofCause(ref, cause)))
  const runs = !states || states.includes('running') ? Map.groupBy(running(tx), (member) => member.series) : new Map()
  return series.flatMap((one) => [
    ...originsOf(one, states).map(table),
    ...(runs.has(one.ref) ? [runningSource(tx, runs.get(one.ref) ?? [], filter, below)] : []),
  ])
}

type SeriesRow = Record<CountedState, number> & { readonly ref: number }

function matchingSeries(tx: Transaction, filter: OccurrenceFilter): SeriesRow[] {
  const { where, values } = seriesWhere(filter)
  return tx.all<SeriesRow>(`SELECT s.ref, ${countedStates.join(', ')} FROM punctual_series s ${where}`, ...values)
}

function ofKeyOrEntity(series: number, { key, unique, entity }: OccurrenceFilter): Origin {
  const from = 'punctual_occurrence s'
  if (key === undefined) return { from, where: 's.series = ? AND s.entity = ?', values: [series, entity as string] }
  // Without a kind the keys of both are few, and brought in order.
  const ofKind = unique === undefined ? '' : ` AND s.live = ${unique === 'live' ? 1 : 0}`
  if (entity === undefined) return { from, where: `s.series = ? AND s.key = ?${ofKind}`, values: [series, key] }
  return { from, where: `s.series = ? AND s.key = ?${ofKind} AND +s.entity = ?`, values: [series, key, entity] }
}

function ofParent(parent: string): Origin {
  return { from: 'punctual_occurrence s INDEXED BY punctual_occurrence_parent', where: 's.parent = ?', values: [parent] }
}

function ofCause(series: number, cause: string): Origin {
  return {
    from: 'punctual_dead s INDEXED BY punctual_dead_cause',
    where: 's.cause = ? AND s.series = ?',
    values: [cause, series],
  }
}

/** Where the occurrences of a series are, those that run left out. */
function originsOf(series: SeriesRow, states: readonly OccurrenceState[] | undefined): Origin[] {
  const values = [series.ref]
  if (!states)
    return [
      { from: 'punctual_ready s INDEXED BY punctual_ready_series', where: 's.series = ?', values },
      { from: 'punctual_arrival s INDEXED BY punctual_arrival_series', where: 's.series = ?', values },
      ...waiting(values),
      { from: 'punctual_turn s', where: 's.series = ?', values },
    ]
  const isWanted = (state: OccurrenceState) =>
    states.includes(state) && (state === 'pending' || series[state as CountedState] > 0)
  return [
    ...(isWanted('pending') ? idle('series', 's.series = ? AND s.retrying = 0', values) : []),
    ...(isWanted('retrying') ? idle('retrying', 's.series = ? AND s.retrying = 1', values) : []),
    ...(isWanted('waiting') ? waiting(values) : []),
    ...(isWanted('dead') ? [{ from: 'punctual_dead s', where: 's.series = ?', values }] : []),
    ...(isWanted('completed') ? [{ from: 'punctual_turn s', where: "s.series = ? AND +s.end = 'completed'", values }] : []),
    ...(['failed', 'canceled', 'skipped', 'missed'] as const).filter(isWanted).map((end) => ({
      from: 'punctual_turn s INDEXED BY punctual_turn_end',
      // The planner takes a partial index only where it finds the index's own condition.
      where: `s.series = ? AND s.end = '${end}' AND s.end <> 'completed'`,
      values,
    })),
  ]
}

function idle(index: 'series' | 'retrying', where: string, values: readonly number[]): Origin[] {
  return ['ready', 'arrival'].map((table) => ({
    from: `punctual_${table} s INDEXED BY punctual_${table}_${index}`,
    where,
    values,
  }))
}

function waiting(values: readonly number[]): Origin[] {
  return [
    { from: 'punctual_waiting s INDEXED BY punctual_waiting_series', where: 's.series = ?', values },
    { from: 'punctual_aside s', where: 's.series = ?', values },
  ]
}

function tableSource(tx: Transaction, { from, where, values }: Origin, window: Window | null, below: number): Source<number> {
  if (!window) {
    const sql = `SELECT s.ref FROM ${from} WHERE ${where} AND s.ref < ? ORDER BY s.ref DESC LIMIT ? + 0`
    return { page: (last, limit) => refsOf(tx.all(sql, ...values, last ?? below, limit)) }
  }
  const sql = `SELECT s.ref FROM ${from} CROSS JOIN punctual_occurrence o ON o.ref = s.ref
    WHERE ${where} AND s.ref >= ? AND s.ref < ? AND o.scheduled_at >= ? AND o.scheduled_at < ? ORDER BY s.ref DESC LIMIT ? + 0`
  return {
    page(last = below, limit) {
      const refs: number[] = []
      for (const range of window.ranges) {
        if (refs.length === limit) break
        if (range.from >= last) continue
        const to = Math.min(range.to, last)
        refs.push(...refsOf(tx.all(sql, ...values, range.from, to, window.since, window.to, limit - refs.length)))
      }
      return refs
    },
  }
}

function refsOf(rows: readonly { readonly ref?: number }[]): number[] {
  return rows.map(({ ref }) => ref as number)
}

/** The instants that are asked for, and where in the table they can be. */
interface Window {
  readonly since: number
  readonly to: number
  readonly ranges: readonly RefRange[]
}

function windowOf(
  tx: Transaction,
  { from: since = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY }: OccurrenceFilter,
): Window | null {
  if (since === Number.NEGATIVE_INFINITY && to === Number.POSITIVE_INFINITY) return null
  return { since, to, ranges: tx.blocks.dueWithin(since, to) }
}

/** The running work of a series: few rows, and only claims know them. */
function runningSource(
  tx: Transaction,
  members: readonly StoredMember[],
  { from, to }: OccurrenceFilter,
  below: number,
): Source<number> {
  const isWithin = (ref: number) => {
    if (from === undefined && to === undefined) return true
    const { scheduledAt } = (readEntry(tx, ref) as Entry).record
    return (from === undefined || scheduledAt >= from) && (to === undefined || scheduledAt < to)
  }
  const refs = members.map(({ ref }) => ref).filter(isWithin)
  refs.sort((a, b) => b - a)
  return { page: (last, limit) => refs.filter((ref) => ref < (last ?? below)).slice(0, limit) }
}

/** The rows of a source that stand in one of the states, or died of the cause. */
function inStates(tx: Transaction, source: Source<number>, { states, cause }: OccurrenceFilter): Source<number> {
  if (!states && cause === undefined) return source
  return wanted(tx, source, (entry) => (cause === undefined ? states?.includes(entry.state) === true : entry.cause === cause))
}

/** The children of one occurrence that a filter wants. */
function matching(tx: Transaction, source: Source<number>, filter: OccurrenceFilter): Source<number> {
  const { tenant, job, key, unique, entity } = filter
  const isWanted = ({ record }: Entry) =>
    (tenant === undefined || record.tenant === tenant) &&
    (job === undefined || record.job === job) &&
    (key === undefined || record.key === key) &&
    (unique === undefined || record.unique === unique) &&
    (entity === undefined || record.entity === entity)
  const isOfAny = [tenant, job, key, unique, entity].every((part) => part === undefined)
  return inStates(tx, isOfAny ? source : wanted(tx, source, isWanted), filter)
}

function wanted(tx: Transaction, source: Source<number>, isWanted: (entry: Entry) => boolean): Source<number> {
  return {
    page(last, limit) {
      const found: number[] = []
      for (let rows = source.page(last, limit); rows.length > 0 && found.length < limit; rows = source.page(rows.at(-1), limit))
        found.push(...rows.filter((ref) => isWanted(readEntry(tx, ref) as Entry)))
      return found.slice(0, limit)
    },
  }
}
