import { PunctualError } from '../errors.ts'
import { restoreCron } from './cron.ts'
import { canonicalCron } from './cron-text.ts'
import { restoreInterval } from './interval.ts'
import { restoreOnce } from './once.ts'
import { restoreRRule } from './rrule.ts'
import { isSchedule, type Schedule, type ScheduleJson } from './schedule.ts'
import { union } from './union.ts'

type Restore = (json: ScheduleJson) => Schedule

const builtIn: Readonly<Record<string, Restore>> = {
  cron: (json) => restoreCron(withExclusions(json)),
  interval: (json) => restoreInterval(withExclusions(json)),
  rrule: (json) => restoreRRule(withExclusions(json)),
  once: restoreOnce,
  union: (json) => union(Array.isArray(json.parts) ? json.parts.map(restoreSchedule) : []),
}
const own = new Map<string, Restore>()

/** The schedule that gave this JSON. A kind that is not registered in this process is refused with `schedule.unknown`. */
export function restoreSchedule(json: ScheduleJson): Schedule {
  const kind = json?.kind
  const restore = own.get(kind) ?? (Object.hasOwn(builtIn, String(kind)) ? builtIn[kind] : undefined)
  if (restore) return restore(json)
  throw new PunctualError(
    'schedule.unknown',
    `no schedule of the kind ${JSON.stringify(kind)?.slice(0, 120)} is registered in this process; it knows ${knownKinds().join(', ')}`,
    { kind, known: knownKinds() },
  )
}

/** Registers a custom kind of schedule: `restore` gets the output of the schedule's `toJSON()`. */
export function registerSchedule(kind: string, restore: Restore): void {
  if (typeof kind !== 'string' || kind === '' || kind.length > 100 || Object.hasOwn(builtIn, kind)) {
    throw new PunctualError(
      'option.invalid',
      `a kind is a name of 1 to 100 characters other than ${Object.keys(builtIn).join(', ')}`,
      { kind },
    )
  }
  own.set(kind, restore)
}

/** Whether both denote the same instants by the same text: spaces, letter case and macros do not matter. */
export function equalSchedules(a: Schedule | ScheduleJson, b: Schedule | ScheduleJson): boolean {
  return canonicalText(a) === canonicalText(b)
}

/** The schedule's JSON as text, equal for equal schedules. */
function canonicalText(schedule: Schedule | ScheduleJson): string {
  return JSON.stringify(canonical(isSchedule(schedule) ? schedule.toJSON() : schedule))
}

function knownKinds(): string[] {
  return [...Object.keys(builtIn), ...own.keys()]
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  const isCron = (value as ScheduleJson).kind === 'cron'
  return Object.fromEntries(
    entries
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, isCron && key === 'text' ? canonicalCron(String(item)) : canonical(item)]),
  )
}

/** Exclusions may hold schedules, as JSON. */
function withExclusions(json: ScheduleJson): ScheduleJson {
  if (!Array.isArray(json.exclude)) return json
  const exclude = json.exclude.map((entry: Record<string, ScheduleJson>) => {
    if (entry?.days) return { days: restoreSchedule(entry.days) }
    return entry?.instants ? { instants: restoreSchedule(entry.instants) } : entry
  })
  return { ...json, exclude }
}
