// Where a list finds its refs: tables that one index holds in the order of `ref`.

import type { OccurrenceState } from '../../../model/lifecycle.ts'
import type { OccurrenceFilter } from '../../query.ts'
import { having } from '../../rules/having.ts'
import { seriesWhere } from '../../rules/sql/conditions.ts'
import { running } from '../claim/claim-row.ts'
import type { Source } from '../connection/merge.ts'
import type { Transaction } from '../connection/transaction.ts'
import { createdAfter } from '../occurrence/counts.ts'
import { type Entry, readEntry } from '../occurrence/entry.ts'
import { type CountedState, countedStates } from '../schema/tables.ts'
import { named, namedOfMany, ofCause, ofManyJobs } from './many-jobs.ts'
import { type Origin, runningSource, Tables } from './tables.ts'

/** More jobs than these are not looked into one by one. */
const mostLanes = 200

export function sourcesFor(tx: Transaction, filter: OccurrenceFilter, below: number): Source<number>[] {
  const { tenant, job, states, key, entity, parent, cause } = filter
  const reader = new Tables(tx, filter, below)
  const table = (origin: Origin) => reader.source(origin)
  if ([tenant, job, states, key, entity, parent, cause].every((part) => part === undefined))
    return [table({ from: 'punctual_occurrence s', where: '1', values: [] })]
  if (parent !== undefined) return [matching(tx, table(ofParent(parent)), filter)]
  const isNamed = key !== undefined || entity !== undefined
  if (cause !== undefined && !isNamed) return job === undefined ? [table(ofCause(filter))] : deadLanes(reader, filter)
  const series = matchingSeries(tx, filter, `LIMIT ${mostLanes + 1}`)
  const isMany = series.length > mostLanes
  if (isNamed && isMany) return namedOfMany(reader, filter)
  if (isNamed) return series.map(({ ref }) => inStates(tx, table(ofSeries(ref, named(filter))), filter))
  return isMany ? ofManyJobs(reader, filter, (state) => lanes(reader, filter, state)) : lanesOf(reader, filter, series)
}

/** The dead of a cause, of one job in each tenant that has any. */
function deadLanes(reader: Tables, filter: OccurrenceFilter): Source<number>[] {
  const from = 'punctual_dead s INDEXED BY punctual_dead_series'
  const ofOne = { from, where: 's.cause = ?', values: [filter.cause as string] }
  const series = matchingSeries(reader.tx, filter).filter(({ dead }) => dead > 0)
  return series.map(({ ref }) => reader.source(ofSeries(ref, ofOne)))
}

/** A lane of each job that the filter asks for and that has work in the state; without one, of each. */
function lanes(reader: Tables, filter: OccurrenceFilter, state: CountedState | undefined): Source<number>[] {
  const isIn = state === undefined ? hasAny(reader.tx) : (one: SeriesRow) => one[state] > 0
  const series = matchingSeries(reader.tx, filter).filter(isIn)
  return lanesOf(reader, { ...filter, ...(state !== undefined && { states: [state] }) }, series)
}

/** Whether a job has any occurrence. */
function hasAny(tx: Transaction): (series: SeriesRow) => boolean {
  const created = createdAfter(tx, tx.meta('counted_ref'), Number.MAX_SAFE_INTEGER)
  const uncounted = new Set(created.map(({ series }) => series))
  return ({ ref, present }) => present > 0 || uncounted.has(ref)
}

function lanesOf(reader: Tables, filter: OccurrenceFilter, series: readonly SeriesRow[]): Source<number>[] {
  const { states } = filter
  const isRunning = !states || states.includes('running')
  const runs = isRunning ? Map.groupBy(running(reader.tx), (member) => member.series) : new Map()
  return series.flatMap((one) => [
    ...originsOf(one, states).map((origin) => reader.source(origin)),
    ...(runs.has(one.ref) ? [runningSource(reader, runs.get(one.ref) ?? [], filter)] : []),
  ])
}

type SeriesRow = Record<CountedState | 'present', number> & { readonly ref: number }

function matchingSeries(tx: Transaction, filter: OccurrenceFilter, limit = ''): SeriesRow[] {
  const { where, values } = seriesWhere(filter)
  return tx.all<SeriesRow>(
    `SELECT s.ref, present, ${countedStates.join(', ')} FROM punctual_series s WHERE ${where} ${limit}`,
    ...values,
  )
}

function ofSeries(series: number, { from, where, values }: Origin): Origin {
  return { from, where: `s.series = ? AND ${where}`, values: [series, ...values] }
}

function ofParent(parent: string): Origin {
  return { from: 'punctual_occurrence s INDEXED BY punctual_occurrence_parent', where: 's.parent = ?', values: [parent] }
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

/** The rows of a source that stand in one of the states, or died of the cause. */
function inStates(tx: Transaction, source: Source<number>, { states, cause }: OccurrenceFilter): Source<number> {
  if (!states && cause === undefined) return source
  return wanted(tx, source, (entry) => (cause === undefined ? states?.includes(entry.state) === true : entry.cause === cause))
}

/** The children of one occurrence that a filter wants. */
function matching(tx: Transaction, source: Source<number>, filter: OccurrenceFilter): Source<number> {
  const { tenant, job, key, unique, entity } = filter
  const isWanted = having({ tenant, job, key, unique, entity })
  const isOfAny = [tenant, job, key, unique, entity].every((part) => part === undefined)
  return inStates(tx, isOfAny ? source : wanted(tx, source, ({ record }) => isWanted(record)), filter)
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
