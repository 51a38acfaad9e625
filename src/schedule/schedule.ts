/** A schedule as plain JSON. `kind` says which restore function reads it. */
export type ScheduleJson = { readonly kind: string; readonly [property: string]: unknown }

/**
 * A set of instants. Every query is a query on that set: nothing depends on the time of the call, on the process's
 * zone or on earlier runs. Schedules are immutable values.
 */
export interface Schedule {
  /** `cron`, `interval`, `rrule`, `once`, `union`, or the name of an own kind. */
  readonly kind: string
  /** The first instant strictly after, or null when there is none. */
  next(after: Date): Date | null
  /** The last instant strictly before, or null when there is none. */
  previous(before: Date): Date | null
  /** The instants in [from, to), in order, computed one by one. */
  between(from: Date, to: Date): Iterable<Date>
  /** The schedule in words. */
  describe(): string
  /** Plain JSON from which `restoreSchedule` makes an equal schedule. */
  toJSON(): ScheduleJson
}

/** A schedule that answers in epoch milliseconds, without Date objects. All built-in kinds do. */
export interface MsSchedule extends Schedule {
  nextMs(after: number): number | null
  previousMs(before: number): number | null
  betweenMs(from: number, to: number): Iterable<number>
}

/** The first instant strictly after, in epoch milliseconds, of any kind of schedule. */
export function nextMs(schedule: Schedule, after: number): number | null {
  if (answersMs(schedule)) return schedule.nextMs(after)
  return schedule.next(new Date(after))?.getTime() ?? null
}

/** The last instant strictly before, in epoch milliseconds, of any kind of schedule. */
export function previousMs(schedule: Schedule, before: number): number | null {
  if (answersMs(schedule)) return schedule.previousMs(before)
  return schedule.previous(new Date(before))?.getTime() ?? null
}

/** The instants in [from, to), in epoch milliseconds, computed one by one. */
export function* betweenMs(schedule: Schedule, from: number, to: number): Generator<number, void, undefined> {
  if (answersMs(schedule)) yield* schedule.betweenMs(from, to)
  else for (const instant of schedule.between(new Date(from), new Date(to))) yield instant.getTime()
}

/**
 * Whether the schedule has no instant after `from`. Without `from` the whole set counts; with the current time it also finds
 * a schedule whose window has passed, or whose wall time falls into a gap every year.
 */
export function neverFires(schedule: Schedule, from: number = firstInstant): boolean {
  return nextMs(schedule, from) === null
}

// The range of Date begins here.
const firstInstant = -8.64e15

/** Whether the value has the shape of a schedule, own kinds included. */
export function isSchedule(value: unknown): value is Schedule {
  const candidate = value as Partial<Schedule> | null
  return (
    typeof candidate === 'object' &&
    candidate !== null &&
    typeof candidate.kind === 'string' &&
    typeof candidate.next === 'function'
  )
}

function answersMs(schedule: Schedule): schedule is MsSchedule {
  return 'nextMs' in schedule && 'previousMs' in schedule
}
