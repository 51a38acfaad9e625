import { zoneNamed } from './zone.ts'

/**
 * The rules of a zone over a stretch of time as a short text: when its offset changes, and to what. Two processes whose
 * texts are equal agree on every instant in it, whatever their tz versions. Epoch milliseconds, [from, to).
 */
export function zoneRules(name: string, from: number, to: number): string {
  const zone = zoneNamed(name)
  const changes: string[] = []
  let offset = Number.NaN
  for (let at = from; at < to; at = zone.segmentAt(at).end) {
    if (zone.offsetAt(at) === offset) continue
    offset = zone.offsetAt(at)
    changes.push(`${at === from ? '' : (at / 1000).toString(36)}:${offset / 1000}`)
  }
  return changes.join(' ')
}

/** Whether the tz version `a` is newer than `b`: only newer data may change a plan. An unknown version is never newer. */
export function isNewerTz(a: string, b: string): boolean {
  return tzPattern.test(a) && tzPattern.test(b) && a > b
}

// A year and a letter; so far no year had more than 26 releases.
const tzPattern = /^\d{4}[a-z]$/
