// Claims that do not go by age alone: fairly across tenants, or by quotas. A lane holds the due rows of one job, kind and priority,
// so that a flood of one tenant is never walked to reach the rows of another.
import type { ClaimPick, Quota, WaitingGroup } from '../store.ts'
import type { Series } from './dictionary.ts'
import { type DueRow, dueColumn, dueColumns, heads, isEarlier } from './due.ts'
import { LaneReader } from './lanes.ts'
import type { Transaction } from './transaction.ts'

interface DueLane {
  readonly kind: number
  readonly priority: number
  readonly series: Series
}

/** What is due, in the order in which `pick` wants it tried. What becomes ready meanwhile is left for another claim. */
export function* picked(
  tx: Transaction,
  kinds: readonly string[],
  dueBy: number,
  pick: ClaimPick,
): Generator<DueRow, void, undefined> {
  for (const name of kinds) tx.layLanes(tx.dictionary.kind(name))
  const stirred = tx.stirred.length
  const isFixed = ({ 0: ref }: DueRow) => !tx.stirred.includes(ref, stirred)
  const levels = Map.groupBy(dueLanes(tx, kinds, dueBy), ({ priority }) => priority)
  const left = pick.kind === 'quotas' ? pick.quotas.map(({ limit }) => limit) : []
  for (const [, lanes] of [...levels].sort(([a], [b]) => a - b)) {
    const rows = pick.kind === 'fair' ? inTurn(tx, lanes, dueBy, isFixed) : within(tx, lanes, dueBy, { ...pick, left, isFixed })
    yield* rows
  }
}

const nextLane = `SELECT series, due_at FROM punctual_lane WHERE kind = ? AND priority = ? AND series > ? ORDER BY series, due_at LIMIT 1`

/** The lanes with anything due, by skipping from the head of one to the next. */
function dueLanes(tx: Transaction, kinds: readonly string[], dueBy: number): DueLane[] {
  const found: DueLane[] = []
  for (const { kind, priority, dueAt } of heads(tx, kinds)) {
    if (dueAt > dueBy) continue
    let row = tx.one<[number, number]>(nextLane, kind, priority, -1)
    while (row) {
      const [lane, due] = row
      if (due <= dueBy) found.push({ kind, priority, series: tx.dictionary.seriesByRef(lane) })
      row = tx.one<[number, number]>(nextLane, kind, priority, lane)
    }
  }
  return found
}

const selectLane = `SELECT ${dueColumns} FROM punctual_lane l
  CROSS JOIN punctual_ready r ON r.kind = l.kind AND r.priority = l.priority AND r.due_at = l.due_at AND r.ref = l.ref
  CROSS JOIN punctual_occurrence o ON o.ref = l.ref
  WHERE l.kind = ? AND l.priority = ? AND l.series = ? AND l.due_at <= ? AND (l.due_at, l.ref) > (?, ?) ORDER BY l.due_at, l.ref LIMIT ? + 0`
const pageSize = 8

function reader(tx: Transaction, { kind, priority, series }: DueLane, dueBy: number): LaneReader<DueRow> {
  const page = (last: DueRow | undefined, limit: number) =>
    tx.all<DueRow>(selectLane, kind, priority, series.ref, dueBy, last?.[dueColumn] ?? -1, last?.[0] ?? 0, limit)
  return new LaneReader({ page }, pageSize)
}

type IsFixed = (row: DueRow) => boolean

/** One of each tenant in turn, the tenant whose work has been due the longest first. */
function* inTurn(
  tx: Transaction,
  lanes: readonly DueLane[],
  dueBy: number,
  isFixed: IsFixed,
): Generator<DueRow, void, undefined> {
  const tenants = [...Map.groupBy(lanes, ({ series }) => series.tenant).values()]
    .map((own) => own.map((lane) => reader(tx, lane, dueBy)))
    .sort((a, b) => (isEarlier(earliest(a)?.head as DueRow, earliest(b)?.head as DueRow) ? -1 : 1))
  for (let isMore = true; isMore; ) {
    isMore = false
    for (const readers of tenants) {
      const row = takeNext(readers, isFixed)
      if (!row) continue
      isMore = true
      yield row
    }
  }
}

interface Quotas {
  readonly quotas: readonly Quota[]
  /** How many each quota still allows. */
  readonly left: number[]
  readonly isFixed: IsFixed
}

/** As many as the first quota that matches allows, the oldest first. A lane falls under one quota as a whole. */
function* within(
  tx: Transaction,
  lanes: readonly DueLane[],
  dueBy: number,
  { quotas, left, isFixed }: Quotas,
): Generator<DueRow, void, undefined> {
  const readers = lanes.flatMap((lane) => {
    const at = quotas.findIndex((quota) => matches(quota, lane))
    return at < 0 ? [] : [{ at, reader: reader(tx, lane, dueBy) }]
  })
  for (;;) {
    const open = readers.filter(({ at }) => (left[at] as number) > 0)
    const first = earliest(open.map((one) => one.reader))
    const at = open.find((one) => one.reader === first)?.at
    if (!first || at === undefined) return
    const row = first.take()
    if (!isFixed(row)) continue
    left[at] = (left[at] as number) - 1
    yield row
  }
}

function matches({ tenant, job, priority }: Quota, { series, ...lane }: DueLane): boolean {
  return (
    (tenant === undefined || tenant === series.tenant) &&
    (job === undefined || job === series.job) &&
    (priority === undefined || priority === lane.priority)
  )
}

/** The one whose head comes first; undefined when all are at their end. */
function earliest(readers: readonly LaneReader<DueRow>[]): LaneReader<DueRow> | undefined {
  let first: LaneReader<DueRow> | undefined
  for (const one of readers) if (one.head !== undefined && (!first || isEarlier(one.head, first.head as DueRow))) first = one
  return first
}

function takeNext(readers: readonly LaneReader<DueRow>[], isFixed: IsFixed): DueRow | undefined {
  for (let first = earliest(readers); first; first = earliest(readers)) {
    const row = first.take()
    if (isFixed(row)) return row
  }
  return undefined
}

const mostCounted = 1000

export function waiting(tx: Transaction, { kinds }: { kinds: readonly string[] }): readonly WaitingGroup[] {
  const groups = new Map<string, WaitingGroup>()
  for (const { kind, priority, dueAt } of heads(tx, kinds)) {
    if (dueAt > tx.now) continue
    for (const [ref, found] of countBySeries(tx, kind, priority)) {
      const { tenant, job } = tx.dictionary.seriesByRef(ref)
      const name = JSON.stringify([tenant, job, priority])
      const count = Math.min(mostCounted, found + (groups.get(name)?.count ?? 0))
      groups.set(name, { tenant, job, priority, count })
    }
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}

const countDue = `SELECT count(*) FROM
  (SELECT 1 FROM punctual_lane WHERE kind = ? AND priority = ? AND series = ? AND due_at <= ? LIMIT ${mostCounted})`

function countBySeries(tx: Transaction, kind: number, priority: number): [series: number, count: number][] {
  // Before any node picks there are no lanes: everything that is due is counted.
  if (!tx.isLaned(kind))
    return tx.all(
      'SELECT series, count(*) FROM punctual_ready WHERE kind = ? AND priority = ? AND due_at <= ? GROUP BY series',
      kind,
      priority,
      tx.now,
    )
  const found: [number, number][] = []
  for (let row = tx.one<[number, number]>(nextLane, kind, priority, -1); row; row = tx.one(nextLane, kind, priority, row[0]))
    if (row[1] <= tx.now) found.push([row[0], (tx.one<[number]>(countDue, kind, priority, row[0], tx.now) as [number])[0]])
  return found
}
