const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** Two units at most, such as `2 h 02 m`. */
export function duration(ms: number): string {
  const size = Math.abs(ms)
  if (size < second) return `${Math.round(size)} ms`
  if (size < 10 * second && size % second !== 0) return `${(size / second).toFixed(1)} s`
  if (size < minute) return `${Math.floor(size / second)} s`
  if (size < hour) return pair(Math.floor(size / minute), 'm', Math.floor((size % minute) / second), 's')
  if (size < day) return pair(Math.floor(size / hour), 'h', Math.floor((size % hour) / minute), 'm')
  const days = Math.floor(size / day)
  return days < 14 ? pair(days, 'd', Math.floor((size % day) / hour), 'h') : `${days} d`
}

/** How late something is: seconds matter only in the first minute. */
export function lateness(ms: number): string {
  return duration(whole(Math.max(0, ms)))
}

/** One unit, for narrow places. */
export function roughly(ms: number): string {
  const size = Math.abs(ms)
  if (size < minute) return `${Math.floor(size / second)} s`
  if (size < hour) return `${Math.floor(size / minute)} m`
  return size < day ? `${Math.floor(size / hour)} h` : `${Math.floor(size / day)} d`
}

export function relative(at: number, now: number): string {
  if (Math.abs(at - now) < second) return 'now'
  return at > now ? `in ${duration(whole(at - now))}` : `${duration(whole(now - at))} ago`
}

export function relativeRough(at: number, now: number): string {
  if (Math.abs(at - now) < second) return 'now'
  return at > now ? `in ${roughly(at - now)}` : `${roughly(now - at)} ago`
}

/** Full seconds, or full minutes where there are some. */
function whole(ms: number): number {
  const unit = ms < minute ? second : minute
  return Math.floor(ms / unit) * unit
}

function pair(major: number, majorUnit: string, minor: number, minorUnit: string): string {
  return minor === 0 ? `${major} ${majorUnit}` : `${major} ${majorUnit} ${String(minor).padStart(2, '0')} ${minorUnit}`
}
