// Instants as a clock on a wall of some zone shows them.

export interface WallTime {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly weekday: string
  readonly monthName: string
}

const formats = new Map<string, Intl.DateTimeFormat>()
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** The instant as that zone's calendar and clock have it. */
export function wallTime(at: number, zone: string): WallTime {
  const shifted = new Date(at + offsetMs(at, zone))
  return {
    year: shifted.getUTCFullYear(),
    month: shifted.getUTCMonth() + 1,
    day: shifted.getUTCDate(),
    hour: shifted.getUTCHours(),
    minute: shifted.getUTCMinutes(),
    second: shifted.getUTCSeconds(),
    weekday: weekdays[shifted.getUTCDay()]!,
    monthName: months[shifted.getUTCMonth()]!,
  }
}

const offsets = new Map<string, number>()

/** How far the zone is ahead of UTC. Kept by quarter hour: offsets change only on one. */
function offsetMs(at: number, zone: string): number {
  if (zone === 'UTC') return 0
  const quarter = Math.floor(at / 900_000)
  const name = `${zone}|${quarter}`
  const known = offsets.get(name)
  if (known !== undefined) return known
  if (offsets.size > 20_000) offsets.clear()
  const found = readOffset(quarter * 900_000, zone)
  offsets.set(name, found)
  return found
}

function readOffset(at: number, zone: string): number {
  let format = formats.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    formats.set(zone, format)
  }
  const part: Record<string, number> = {}
  for (const { type, value } of format.formatToParts(at)) part[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part
  return Date.UTC(year, month - 1, day, hour, minute, second) - at
}

const two = (n: number) => String(n).padStart(2, '0')

/** `14:32` or `14:32:10`. */
export function clockText(at: number, zone: string, withSeconds = false): string {
  const { hour, minute, second } = wallTime(at, zone)
  return `${two(hour)}:${two(minute)}${withSeconds ? `:${two(second)}` : ''}`
}

/** `Thu 22 Oct`, with the year when it is not this one. */
export function dayText(at: number, zone: string, now: number): string {
  const { weekday, day, monthName, year } = wallTime(at, zone)
  return `${weekday} ${day} ${monthName}${year === wallTime(now, zone).year ? '' : ` ${year}`}`
}

function isSameDay(a: number, b: number, zone: string): boolean {
  return Math.floor((a + offsetMs(a, zone)) / 86_400_000) === Math.floor((b + offsetMs(b, zone)) / 86_400_000)
}

/** The clock alone for today, the day in front of it for any other. */
export function timeText(at: number, zone: string, now: number, withSeconds = false): string {
  const clock = clockText(at, zone, withSeconds)
  return isSameDay(at, now, zone) ? clock : `${dayText(at, zone, now)} ${clock}`
}

/** `+02:00`. */
export function offsetText(at: number, zone: string): string {
  const minutes = Math.round(offsetMs(at, zone) / 60_000)
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

/** The instant at which the zone's day of `at` begins. */
export function dayStart(at: number, zone: string): number {
  const local = Math.floor((at + offsetMs(at, zone)) / 86_400_000) * 86_400_000
  const guess = local - offsetMs(at, zone)
  return local - offsetMs(guess, zone)
}

/** The instants in between at which the zone's clock is changed, and by how much. */
export function clockChanges(from: number, to: number, zone: string): { at: number; byMs: number }[] {
  const found: { at: number; byMs: number }[] = []
  const step = 86_400_000
  for (let at = from; at < to; at += step) {
    const end = Math.min(at + step, to)
    const byMs = offsetMs(end, zone) - offsetMs(at, zone)
    if (byMs === 0) continue
    let low = at
    let high = end
    while (high - low > 900_000) {
      const mid = (low + high) / 2
      if (offsetMs(mid, zone) === offsetMs(at, zone)) low = mid
      else high = mid
    }
    found.push({ at: Math.floor(high / 900_000) * 900_000, byMs })
  }
  return found
}
