import type { WireJobLine, WireJobMark, WireOccurrenceLine } from '../../../src/http/wire.ts'
import type { Mark } from '../part/mark.ts'
import { lateness } from '../time/duration.ts'
import { now, zoneOf } from '../time/zone.ts'
import { timeText } from '../time/zoned.ts'

const shapes: Readonly<Partial<Record<WireJobMark, Mark>>> = { 'on-time': 'ontime', overridden: 'hand', retired: 'disabled' }

/** The shape of a job's mark. */
export function jobShape(mark: WireJobMark | undefined): Mark {
  return mark === undefined ? 'ontime' : (shapes[mark] ?? (mark as Mark))
}

/** The worst mark of a job. That a person changed it is said beside its name instead. */
export function mainMark(marks: readonly WireJobMark[]): WireJobMark {
  return marks.find((mark) => mark !== 'overridden') ?? 'on-time'
}

/** The tenant that the work shown with a job is kept to; none for a job that all tenants share. */
export function workOf({ shared, tenant }: { readonly shared: boolean; readonly tenant: string }): { readonly tenant?: string } {
  return shared ? {} : { tenant }
}

export function occurrenceMark({ state, late }: { state: WireOccurrenceLine['state']; late?: boolean }): Mark {
  return late ? 'late' : state
}

/** The instant to show a run under: its own, unless it is to start at another one. A replay keeps the instant of its origin. */
export function dueOf({ state, source, scheduledAt, dueAt }: WireOccurrenceLine): string {
  return state === 'pending' || state === 'retrying' || source === 'replay' ? dueAt : scheduledAt
}

/** A job's state in words: how late, until when. */
export function jobStateText(job: WireJobLine): string {
  const zone = zoneOf(job.schedule?.timezone)
  const main = mainMark(job.marks)
  if (main === 'late' && job.lateSince) return `Late ${lateness(now.value - Date.parse(job.lateSince))}`
  if (main === 'missed') {
    const missed = job.recent.findLast(({ state }) => state === 'missed')
    return missed ? `Missed ${timeText(Date.parse(missed.scheduledAt), zone, now.value)}` : 'Missed'
  }
  if (main === 'running')
    return job.waiting > 0
      ? `Running, ${job.waiting} ${job.waiting === 1 ? 'waits' : 'wait'}`
      : job.running > 1
        ? `Running ${job.running}`
        : 'Running'
  if (main === 'waiting') return job.waiting > 1 ? `${job.waiting} wait` : 'Waiting'
  if (main === 'paused' && job.pausedUntil) return `Paused until ${timeText(Date.parse(job.pausedUntil), zone, now.value)}`
  return main === 'on-time' ? 'On time' : main[0]!.toUpperCase() + main.slice(1)
}
