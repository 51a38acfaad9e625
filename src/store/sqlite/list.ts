// Lists, newest first. Each is a merge of lanes that an index holds in the right order, so that none walks the rows of other
// jobs or states: the more rows there are, the more a list must not depend on them.
import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import type { OccurrenceSummary } from '../../model/occurrence.ts'
import { decodeCursor, encodeCursor, type OccurrenceFilter, type Page } from '../query.ts'
import type { RefRange } from './blocks.ts'
import { holders } from './claims.ts'
import { type Lane, mergeLanes } from './lanes.ts'
import { heldDue, type Standing, standings } from './standing.ts'
import type { Transaction } from './transaction.ts'

export function list(tx: Transaction, filter: OccurrenceFilter): Page<OccurrenceSummary> {
  const below = filter.cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(filter.cursor)
  const refs = mergeLanes(lanes(tx, filter, below), (a, b) => a > b, filter.limit + 1)
  const found = refs.slice(0, filter.limit).map((ref) => standings(tx, 'o.ref = ?', ref)[0] as Standing)
  const held = found.some((standing) => standing.place === 'claimed') ? holders(tx) : new Map()
  const page = found.map((standing) => summary(standing, heldDue(standing, held)))
  const last = refs[page.length - 1]
  return { items: page, cursor: last !== undefined && refs.length > page.length ? encodeCursor(last) : null }
}

function summary({ record, state, turn, place, last }: Standing, dueAt: number): OccurrenceSummary {
  const { id, tenant, job, key, entity, source, scheduledAt, createdAt } = record
  return {
    id,
    tenant,
    job,
    key,
    entity,
    source,
    state,
    turn,
    scheduledAt,
    dueAt,
    createdAt,
    startedAt: last?.startedAt ?? null,
    endedAt: place === 'ended' ? (last?.endedAt ?? null) : null,
    error: last?.error ?? null,
  }
}

/** Where a lane finds its rows: a table that one index holds in the order of `ref`, and what stands at the head of that index. */
interface Origin {
  readonly from: string
  readonly where: string
  readonly values: readonly (string | number)[]
}

function lanes(tx: Transaction, filter: OccurrenceFilter, below: number): Lane<number>[] {
  const { tenant, job, states, key, entity } = filter
  const window = windowOf(tx, filter)
  const isWhole = [tenant, job, states, key, entity].every((part) => part === undefined)
  if (isWhole) return [tableLane(tx, { from: 'punctual_occurrence s', where: '1', values: [] }, window, below)]
  const series = matchingSeries(tx, filter)
  if (key === undefined && entity === undefined && states) {
    const running = states.includes('running') ? runningBySeries(tx) : new Map<number, RunningRow[]>()
    return series.flatMap(({ ref, counts }) =>
      occurrenceStates
        .filter((state) => states.includes(state) && counts[state] > 0)
        .map((state) =>
          state === 'running'
            ? runningLane(running.get(ref) ?? [], filter, below)
            : tableLane(tx, ofState(ref, state), window, below),
        ),
    )
  }
  return series.map(({ ref }) => inStates(tx, tableLane(tx, ofSeries(ref, filter), window, below), states))
}

interface SeriesCounts {
  readonly ref: number
  readonly counts: Readonly<Record<OccurrenceState, number>>
}

function matchingSeries(tx: Transaction, { tenant, job }: OccurrenceFilter): SeriesCounts[] {
  const given = [...(tenant === undefined ? [] : ['tenant = ?']), ...(job === undefined ? [] : ['job = ?'])]
  const values = [tenant, job].filter((value) => value !== undefined)
  const rows = tx.all<number[]>(
    `SELECT ref, ${occurrenceStates.join(', ')} FROM punctual_series ${given.length > 0 ? `WHERE ${given.join(' AND ')}` : ''}`,
    ...values,
  )
  return rows.map(([ref, ...numbers]) => ({
    ref: ref as number,
    counts: Object.fromEntries(occurrenceStates.map((state, index) => [state, numbers[index]])) as Record<
      OccurrenceState,
      number
    >,
  }))
}

function ofSeries(series: number, { key, entity }: OccurrenceFilter): Origin {
  const from = 'punctual_occurrence s'
  if (key !== undefined && entity !== undefined)
    return { from, where: 's.series = ? AND s.key = ? AND +s.entity = ?', values: [series, key, entity] }
  if (key !== undefined) return { from, where: 's.series = ? AND s.key = ?', values: [series, key] }
  if (entity !== undefined) return { from, where: 's.series = ? AND s.entity = ?', values: [series, entity] }
  return { from, where: 's.series = ?', values: [series] }
}

function ofState(series: number, state: OccurrenceState): Origin {
  switch (state) {
    case 'pending':
      return {
        from: 'punctual_ready s INDEXED BY punctual_ready_series',
        where: 's.series = ? AND s.retrying = 0',
        values: [series],
      }
    case 'retrying':
      return {
        from: 'punctual_ready s INDEXED BY punctual_ready_retrying',
        where: 's.series = ? AND s.retrying = 1',
        values: [series],
      }
    case 'waiting':
    case 'dead':
      return { from: `punctual_${state} s`, where: 's.series = ?', values: [series] }
    case 'completed':
      return { from: 'punctual_turn s', where: 's.series = ? AND +s.end = ?', values: [series, state] }
    default:
      // The planner takes a partial index only where it finds the index's own condition.
      return {
        from: 'punctual_turn s INDEXED BY punctual_turn_end',
        where: `s.series = ? AND s.end = ? AND s.end <> 'completed'`,
        values: [series, state],
      }
  }
}

function tableLane(tx: Transaction, { from, where, values }: Origin, window: Window | null, below: number): Lane<number> {
  if (!window) {
    const sql = `SELECT s.ref FROM ${from} WHERE ${where} AND s.ref < ? ORDER BY s.ref DESC LIMIT ? + 0`
    return { page: (last, limit) => tx.all<[number]>(sql, ...values, last ?? below, limit).map(([ref]) => ref) }
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
        const rows = tx.all<[number]>(sql, ...values, range.from, to, window.since, window.to, limit - refs.length)
        for (const [ref] of rows) refs.push(ref)
      }
      return refs
    },
  }
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

type RunningRow = [series: number, ref: number, scheduledAt: number]

/** What runs, by series: few rows, and only claims know them. */
function runningBySeries(tx: Transaction): Map<number, RunningRow[]> {
  const rows = tx.all<RunningRow>(
    `SELECT o.series, o.ref, o.scheduled_at FROM punctual_claim c, json_each(c.members) m CROSS JOIN punctual_occurrence o ON o.ref = m.value ->> 0
      WHERE NOT EXISTS (SELECT 1 FROM punctual_turn t WHERE t.series = o.series AND t.ref = o.ref AND t.turn = m.value ->> 1) ORDER BY o.ref DESC`,
  )
  return Map.groupBy(rows, ([series]) => series)
}

function runningLane(rows: readonly RunningRow[], { from, to }: OccurrenceFilter, below: number): Lane<number> {
  const refs = rows
    .filter(([, , scheduledAt]) => (from === undefined || scheduledAt >= from) && (to === undefined || scheduledAt < to))
    .map(([, ref]) => ref)
  return { page: (last, limit) => refs.filter((ref) => ref < (last ?? below)).slice(0, limit) }
}

/** The rows of a lane that stand in one of these states. */
function inStates(tx: Transaction, lane: Lane<number>, states: readonly OccurrenceState[] | undefined): Lane<number> {
  if (!states) return lane
  const isWanted = (ref: number) => states.includes((standings(tx, 'o.ref = ?', ref)[0] as Standing).state)
  return {
    page(last, limit) {
      const wanted: number[] = []
      for (let rows = lane.page(last, limit); rows.length > 0 && wanted.length < limit; rows = lane.page(rows.at(-1), limit))
        wanted.push(...rows.filter(isWanted))
      return wanted.slice(0, limit)
    },
  }
}
