import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cron } from '../../src/schedule/cron.ts'
import { betweenMs } from '../../src/schedule/schedule.ts'
import { type CronCase, cronCase } from './cron-arbitrary.ts'
import { changesIn, scanWall, type WallScan } from './wall-scan.ts'

const zones = [...Intl.supportedValuesOf('timeZone'), 'UTC']
const dayMs = 86_400_000

// `npm run oracle` raises this and draws a new seed each time; the default is a fixed piece of work.
const windows = Number(process.env.PUNCTUAL_ORACLE_WINDOWS ?? 150)
const seed = process.env.PUNCTUAL_ORACLE_SEED ?? (process.env.PUNCTUAL_ORACLE_WINDOWS ? undefined : 20_261_115)

interface Window {
  readonly zone: string
  readonly from: number
  readonly to: number
}

/** Two days around a clock change of the zone in that year, or anywhere where it has none. */
const window: fc.Arbitrary<Window> = fc
  .record({
    zone: fc.constantFrom(...zones),
    year: fc.integer({ min: 1970, max: 2045 }),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ zone, year, at }) => {
    const changes = changesIn(zone, year)
    const anywhere = Date.UTC(year, 0, 1) + Math.floor(at * 365 * 1440) * 60_000
    const middle = changes[Math.floor(at * changes.length)] ?? anywhere
    return { zone, from: middle - dayMs, to: middle + dayMs }
  })

const options = fc.record({
  skippedTime: fc.constantFrom('run', 'run', 'skip'),
  repeatedTime: fc.constantFrom('auto', 'auto', 'first', 'second', 'both'),
}) as fc.Arbitrary<{ skippedTime: 'run' | 'skip'; repeatedTime: 'auto' | 'first' | 'second' | 'both' }>

describe('JB-4 cron against a brute-force scan of the wall', () => {
  it('agrees on random texts in all zones around clock changes, forwards and backwards', () => {
    fc.assert(
      fc.property(
        window,
        fc.array(fc.tuple(cronCase(), options), { minLength: 12, maxLength: 12 }),
        ({ zone, from, to }, cases) => {
          const scan = scanWall(zone, from - 2 * dayMs, to + 2 * dayMs)
          // Offsets with seconds (before 1972) are looked at in zone.test.ts.
          fc.pre(scan.walls.every((wall) => wall % 60_000 === 0))
          for (const [cronCase, choice] of cases) {
            const expected = bruteForce(cronCase, choice, scan, from, to)
            const schedule = cron(cronCase.text, { timezone: zone, ...choice })
            const context = `${cronCase.text} in ${zone} ${JSON.stringify(choice)}`
            expect(firstDifference([...betweenMs(schedule, from, to)], expected), context).toBeNull()
            expect(firstDifference(backwards(schedule, from, to), expected), `${context}, backwards`).toBeNull()
          }
        },
      ),
      // Shrinking would repeat the scans for minutes and make the message no clearer.
      { numRuns: windows, endOnFailure: true, ...(seed !== undefined && { seed: Number(seed) }) },
    )
  }, 3_600_000)
})

function backwards(schedule: ReturnType<typeof cron>, from: number, to: number): number[] {
  const found: number[] = []
  for (let ms = schedule.previousMs(to); ms !== null && ms >= from; ms = schedule.previousMs(ms)) found.push(ms)
  return found.reverse()
}

/** The rules of the guide, one wall minute after the other. */
function bruteForce(
  { seconds, minutes, hours, isInterval, matchesDate }: CronCase,
  { skippedTime: gap, repeatedTime: overlap }: { skippedTime: string; repeatedTime: string },
  scan: WallScan,
  from: number,
  to: number,
): number[] {
  const counted = overlap === 'auto' ? (isInterval ? 'both' : 'first') : overlap
  const found = new Set<number>()
  const dates = new Map<number, boolean>()
  const lastWall = Math.max(...scan.walls)
  for (let wall = Math.min(...scan.walls); wall <= lastWall; wall += 60_000) {
    const date = wall - (((wall % dayMs) + dayMs) % dayMs)
    if (!dates.has(date)) dates.set(date, matchesDate(date))
    if (!dates.get(date)) continue
    if (!hours.has(Math.floor((wall - date) / 3_600_000)) || !minutes.has(((wall - date) / 60_000) % 60)) continue
    const shown = scan.shownAt.get(wall)
    if (shown) {
      const passes = counted === 'both' ? shown : counted === 'first' ? shown.slice(0, 1) : shown.slice(-1)
      for (const pass of passes) for (const second of seconds) found.add(pass + second * 1000)
    } else if (gap === 'run' && hours.size < 24 && scan.dates.has(date)) {
      found.add(scan.instants[scan.walls.findIndex((later, i) => later > wall && (scan.walls[i - 1] as number) < wall)] as number)
    }
  }
  return [...found].filter((ms) => ms >= from && ms < to).sort((a, b) => a - b)
}

function firstDifference(found: readonly number[], expected: readonly number[]): object | null {
  const at = Array.from({ length: Math.max(found.length, expected.length) }, (_, i) => i).find((i) => found[i] !== expected[i])
  const shown = (ms: number | undefined) => (ms === undefined ? 'none' : new Date(ms).toISOString())
  return at === undefined ? null : { found: shown(found[at]), expected: shown(expected[at]) }
}
