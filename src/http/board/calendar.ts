import { builtInPrefix } from '../../engine/node/registry.ts'
import type { JobRecord } from '../../model/job.ts'
import { offsetText } from '../../schedule/preview.ts'
import { type Zone, zoneNamed } from '../../time/zone.ts'
import type { WireCalendar, WireCalendarCell } from '../wire.ts'
import type { Board } from './board.ts'
import { comingInstants } from './coming.ts'
import type { Span } from './figures.ts'
import { iso } from './line.ts'

const hourMs = 3_600_000
const minuteMs = 60_000
/** Coming instants that one request looks at, over all jobs. */
const mostInstants = 100_000
const leastPerJob = 200

/** Enqueued work to come that one request counts. */
const mostEnqueued = 5000

type Cell = WireCalendar['cells'][number]
type Counted = { -readonly [Name in keyof Cell]: Cell[Name] }

export async function calendar(board: Board, span: Span, timezone: string): Promise<WireCalendar> {
  const zone = zoneNamed(timezone)
  const { now } = board
  const { tenant, from, to } = span
  const cells = hourCells(zone, from, to)
  const find = (at: number) => cellAt(cells, at)
  const rows = await board.env.store.figures({
    ...(tenant !== undefined && { tenant }),
    ...(span.job !== undefined && { job: span.job }),
    ...{ from, to: Math.min(to, now + 1), limit: 50_000 },
  })
  for (const { at, figure } of rows) {
    const cell = find(at)
    if (cell)
      for (const name of ['completed', 'failed', 'missed', 'skipped', 'canceled'] as const) cell[name] += figure[name] ?? 0
  }
  const { instants, capped } = await allComing(board, { ...span, from: Math.max(from, now) })
  for (const { at } of instants) {
    const cell = find(at)
    if (cell) cell.coming += 1
  }
  return {
    now: iso(now),
    from: iso(from),
    to: iso(to),
    timezone,
    cells,
    changes: clockChanges(zone, from, to),
    busiestHour: busiest(cells),
    nextPeak: cells.reduce<WireCalendar['nextPeak']>(
      (peak, { at, coming }) => (coming > (peak?.runs ?? 0) ? { at, runs: coming } : peak),
      null,
    ),
    capped,
  }
}

/** Work that is due in a span and that no schedule has made. */
async function enqueuedIn({ env: { store } }: Board, { tenant, job, from, to }: Span) {
  const scope = { ...(tenant !== undefined && { tenant }), ...(job !== undefined && { job }) }
  const rows = await store.listDue({ ...scope, from, to, limit: mostEnqueued })
  const items = rows
    .filter(({ source, job: of }) => source !== 'schedule' && !of.startsWith(builtInPrefix))
    .map(({ tenant: of, job: name, dueAt }) => ({ tenant: of, job: name, at: dueAt }))
  return { items, isCut: rows.length === mostEnqueued }
}

/** The coming instants of all jobs, each with its share of the work that one request may do. */
async function allComing(board: Board, { tenant, job, from, to }: Span) {
  if (from >= to) return { instants: [], capped: false }
  const facts = await board.facts(tenant)
  const all = await board.jobs(tenant)
  let open = all.jobs.filter(({ name, nextAt }) => nextAt !== null && (job === undefined || name === job))
  let isCut = all.capped
  const instants: { tenant: string; job: string; at: number }[] = []
  // The first round is for all. Jobs with many instants share the room that jobs with few leave.
  for (let round = 1; round <= 2 && open.length > 0; round++) {
    const most = Math.max(leastPerJob, Math.floor((mostInstants - instants.length) / open.length))
    const cut: JobRecord[] = []
    for (const record of open) {
      const found = await comingInstants(board, record, { from, to, most, pauses: facts.pauses })
      if (found.isCut && round === 1) {
        cut.push(record)
        continue
      }
      isCut ||= found.isCut
      for (const at of found.instants) instants.push({ tenant: record.tenant, job: record.name, at })
    }
    open = cut
  }
  const enqueued = await enqueuedIn(board, { tenant, job, from, to })
  return { instants: [...instants, ...enqueued.items], capped: isCut || enqueued.isCut }
}

function hourCells(zone: Zone, from: number, to: number): Counted[] {
  const cells: Counted[] = []
  for (let at = from; at < to; ) {
    const offset = zone.offsetAt(at)
    const wall = at + offset
    const nextHour = (Math.floor(wall / hourMs) + 1) * hourMs - offset
    const end = Math.min(nextHour, zone.segmentAt(at).end, to)
    const text = new Date(wall).toISOString()
    const before = cells.at(-1)
    const isSame = before !== undefined && before.date === text.slice(0, 10) && before.hour === Number(text.slice(11, 13))
    cells.push({
      at: iso(at),
      to: iso(end),
      date: text.slice(0, 10),
      hour: Number(text.slice(11, 13)),
      repeated: isSame || at < zone.segmentAt(at).foldEnd,
      ...{ completed: 0, failed: 0, missed: 0, skipped: 0, canceled: 0, coming: 0 },
    })
    at = end
  }
  return cells
}

/** Cells are in order: found by halving. */
function cellAt(cells: readonly Counted[], at: number): Counted | null {
  let [low, high] = [0, cells.length - 1]
  const text = iso(at)
  while (low <= high) {
    const middle = (low + high) >> 1
    const cell = cells[middle] as Counted
    if (text < cell.at) high = middle - 1
    else if (text >= cell.to) low = middle + 1
    else return cell
  }
  return null
}

function clockChanges(zone: Zone, from: number, to: number): WireCalendar['changes'] {
  const changes: { at: string; from: string; to: string }[] = []
  for (let at = zone.segmentAt(from).end; at < to; at = zone.segmentAt(at).end) {
    const [before, after] = [zone.offsetAt(at - 1), zone.offsetAt(at)]
    if (before !== after) changes.push({ at: iso(at), from: offsetText(before), to: offsetText(after) })
  }
  return changes
}

/** The hour with the most runs on a day on which it has any: days before the first job do not count. */
function busiest(cells: readonly Counted[]): WireCalendar['busiestHour'] {
  const hours = Array.from({ length: 24 }, () => ({ runs: 0, days: new Set<string>() }))
  for (const { date, hour, completed, failed, coming } of cells) {
    const runs = completed + failed + coming
    const known = hours[hour] as (typeof hours)[number]
    known.runs += runs
    if (runs > 0) known.days.add(date)
  }
  const busy = hours.map(({ runs, days }) => runs / Math.max(1, days.size))
  const most = Math.max(...busy)
  return most === 0 ? null : { hour: busy.indexOf(most), runs: Math.round(most * 10) / 10 }
}

export async function calendarCell(board: Board, span: Span): Promise<WireCalendarCell> {
  const { tenant, from, to } = span
  const { now } = board
  const jobs = new Map<string, { tenant: string; job: string; count: number }>()
  const minutes = new Map<number, number>()
  const add = (of: string, job: string, at: number, count: number) => {
    const key = JSON.stringify([of, job])
    const known = jobs.get(key) ?? { tenant: of, job, count: 0 }
    known.count += count
    jobs.set(key, known)
    const minute = Math.floor(at / minuteMs) * minuteMs
    minutes.set(minute, (minutes.get(minute) ?? 0) + count)
  }
  const scope = tenant === undefined ? {} : { tenant }
  const rows =
    from < now ? await board.env.store.figures({ ...scope, byJob: true, from, to: Math.min(to, now + 1), limit: 20_000 }) : []
  for (const { tenant: of, job, at, figure } of rows)
    if (at >= from) add(of, job, at, (figure.completed ?? 0) + (figure.failed ?? 0) + (figure.canceled ?? 0))
  const { instants } = await allComing(board, { ...span, from: Math.max(from, now) })
  for (const { tenant: of, job, at } of instants) add(of, job, at, 1)
  return {
    from: iso(from),
    to: iso(to),
    jobs: [...jobs.values()].filter(({ count }) => count > 0).sort((a, b) => b.count - a.count),
    minutes: [...minutes]
      .filter(([, count]) => count > 0)
      .sort((a, b) => a[0] - b[0])
      .map(([at, count]) => ({ at: iso(at), count })),
  }
}
