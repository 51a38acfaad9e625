import { lint } from '../../schedule/lint.ts'
import { parseSchedule } from '../../schedule/parse-text.ts'
import { offsetText, type PreviewRow, preview } from '../../schedule/preview.ts'
import { restoreSchedule } from '../../schedule/restore.ts'
import { neverFires, type Schedule, type ScheduleJson } from '../../schedule/schedule.ts'
import { zoneOf } from '../../schedule/schedule-zone.ts'
import { scheduleFacts } from '../board/job-line.ts'
import { iso } from '../board/line.ts'
import type { WireSchedulePreview } from '../wire.ts'
import { type Call, scopeOf } from './call.ts'

/** The schedule of a request: a text, or the JSON of a kind. */
export function scheduleOf(given: { readonly text?: unknown; readonly timezone?: unknown; readonly kind?: unknown }): Schedule {
  if (typeof given.text === 'string' && given.kind === undefined)
    return parseSchedule(given.text, typeof given.timezone === 'string' ? { timezone: given.timezone } : {})
  return restoreSchedule(given as unknown as ScheduleJson)
}

/** The coming instants of a schedule, and what may surprise about it. */
export async function schedulePreview(call: Call<'schedules.preview'>): Promise<WireSchedulePreview> {
  const { schedule: given, count = 10, after } = call.body
  const { board } = call.desk
  const schedule = scheduleOf(given)
  const now = after === undefined ? Math.floor(board.now) : Date.parse(after)
  const rows = neverFires(schedule, now) ? [] : preview(schedule, now, count)
  const first = rows[0] && Date.parse(rows[0].utc)
  const { jobs } = await board.jobs(scopeOf(call, undefined))
  return {
    schedule: scheduleFacts(schedule.toJSON()) as WireSchedulePreview['schedule'],
    next: rows.map(previewRow),
    clockChange: clockChange(schedule, now),
    warnings: lint(schedule, now).map(({ code, message, at }) => ({
      code,
      message,
      at: at === undefined ? null : iso(Date.parse(at)),
    })),
    sameInstant: jobs
      .filter(({ nextAt }) => first !== undefined && nextAt === first)
      .slice(0, 20)
      .map(({ tenant, name }) => ({ tenant, name })),
  }
}

function previewRow({ utc, local, offset, weekday, mark }: PreviewRow): WireSchedulePreview['next'][number] {
  return { at: iso(Date.parse(utc)), local, offset, weekday, mark }
}

function clockChange(schedule: Schedule, now: number): WireSchedulePreview['clockChange'] {
  const zone = zoneOf(schedule)
  const horizon = now + 3 * 366 * 86_400_000
  for (let at = zone.segmentAt(now).end; at < horizon; at = zone.segmentAt(at).end) {
    const [before, after] = [zone.offsetAt(at - 1), zone.offsetAt(at)]
    if (before === after) continue
    const rows = preview(schedule, at - 86_400_000, 50).filter(({ utc }) => Math.abs(Date.parse(utc) - at) <= 12 * 3_600_000)
    return { at: iso(at), from: offsetText(before), to: offsetText(after), rows: rows.slice(0, 10).map(previewRow) }
  }
  return null
}
