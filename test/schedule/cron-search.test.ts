import { describe, expect, it } from 'vitest'
import { cron } from '../../src/schedule/cron.ts'
import { parseCron } from '../../src/schedule/cron-text.ts'
import { instantAfter, instantBefore, passes } from '../../src/schedule/cron-walk.ts'
import { neverFires } from '../../src/schedule/schedule.ts'
import { type Zone, zoneNamed } from '../../src/time/zone.ts'

const at = (text: string) => new Date(text)

describe('JB-4 what a cron schedule finds', () => {
  it('goes strictly on from the instant asked, at any millisecond', () => {
    const schedule = cron('*/5 * * * *')
    expect(schedule.next(at('2026-01-01T00:00:00.000Z'))).toEqual(at('2026-01-01T00:05:00Z'))
    expect(schedule.next(at('2025-12-31T23:59:59.999Z'))).toEqual(at('2026-01-01T00:00:00Z'))
    expect(schedule.next(at('2026-01-01T00:04:59.001Z'))).toEqual(at('2026-01-01T00:05:00Z'))
    expect(schedule.previous(at('2026-01-01T00:05:00.000Z'))).toEqual(at('2026-01-01T00:00:00Z'))
    expect(schedule.previous(at('2026-01-01T00:05:00.001Z'))).toEqual(at('2026-01-01T00:05:00Z'))
  })

  it('takes between as [from, to)', () => {
    const schedule = cron('0 * * * *')
    expect([...schedule.between(at('2026-01-01T00:00:00Z'), at('2026-01-01T02:00:00Z'))]).toEqual([
      at('2026-01-01T00:00:00Z'),
      at('2026-01-01T01:00:00Z'),
    ])
    expect([...schedule.between(at('2026-01-01T02:00:00Z'), at('2026-01-01T00:00:00Z'))]).toEqual([])
  })

  it('computes the instants of between one by one, when they are asked for', () => {
    const seconds = cron('* * * * * *', { timezone: 'Europe/Oslo' })
    const thousandYears = seconds.between(at('2000-01-01T00:00:00Z'), at('3000-01-01T00:00:00Z'))
    expect(take(thousandYears, 2)).toEqual([at('2000-01-01T00:00:00Z'), at('2000-01-01T00:00:01Z')])
    let count = 0
    for (const _ of seconds.between(at('2026-03-28T00:00:00Z'), at('2026-03-30T00:00:00Z'))) count++
    expect(count).toBe(2 * 86_400)
  })

  it.each([
    ['0 0 29 2 *', '2096-03-01T00:00:00Z', '2104-02-29T00:00:00.000Z'],
    ['0 0 * 2 1#5', '2072-03-01T00:00:00Z', '2112-02-29T00:00:00.000Z'],
    ['0 0 L-28 2 *', '2096-03-01T00:00:00Z', '2104-02-01T00:00:00.000Z'],
  ])('finds the rare %s from %s', (text, from, expected) => {
    for (const timezone of ['UTC', 'Africa/Abidjan']) {
      const schedule = cron(text, { timezone })
      expect(schedule.next(at(from))?.toISOString()).toBe(expected)
      expect(schedule.previous(at('2112-03-01T00:00:00Z'))).not.toBeNull()
    }
  })

  it.each(['0 0 31 2 *', '0 0 30 2 *', '0 0 31 4,6,9,11 *', '0 0 31W 2 *', '0 0 L-30 2 *', '0 0 L-29W 2 *'])(
    'parses %s, which never fires',
    (text) => {
      for (const timezone of ['UTC', 'America/New_York']) {
        const schedule = cron(text, { timezone })
        expect(schedule.next(at('2026-01-01T00:00:00Z'))).toBeNull()
        expect(schedule.previous(at('2026-01-01T00:00:00Z'))).toBeNull()
        expect([...schedule.between(at('2026-01-01T00:00:00Z'), at('2126-01-01T00:00:00Z'))]).toEqual([])
        expect(neverFires(schedule)).toBe(true)
      }
    },
  )

  it('says of any other that it fires', () => {
    for (const text of ['* * * * *', '0 0 29 2 *', '0 0 * 2 1#5']) expect(neverFires(cron(text))).toBe(false)
    const past = cron('* * * * *', { end: '2020-01-01T00:00:00Z' })
    expect(neverFires(past)).toBe(false)
    expect(neverFires(past, Date.parse('2026-01-01T00:00:00Z'))).toBe(true)
  })

  it('answers far from today, and null beyond the range of Date', () => {
    const schedule = cron('0 12 * * *', { timezone: 'Europe/Oslo' })
    expect(schedule.next(at('2500-07-01T00:00:00Z'))?.toISOString()).toBe('2500-07-01T10:00:00.000Z')
    expect(schedule.previous(at('1700-01-02T00:00:00Z'))?.toISOString()).toMatch(/^1700-01-01T11:/)
    expect(schedule.next(new Date(8.64e15))).toBeNull()
    expect(schedule.previous(new Date(-8.64e15))).toBeNull()
    expect(schedule.next(new Date(-8.64e15))).not.toBeNull()
    expect(schedule.previous(new Date(8.64e15))).not.toBeNull()
  })

  it('refuses a date that is none', () => {
    expect(() => cron('* * * * *').next(new Date(Number.NaN))).toThrow(expect.objectContaining({ code: 'instant.invalid' }))
  })

  it('bounds every search: the zone is asked a limited number of times, even when nothing is ever found', () => {
    const rules = { passes: passes.first, makesUp: false }
    for (const text of ['0 0 31 2 *', '30 2 * 3 0#2', '0 0 * 2 1#5', '30 2 29 2 *']) {
      for (const search of [instantAfter, instantBefore]) {
        const zone = countingZone('America/New_York')
        search(parseCron(text), zone, rules, Date.UTC(2026, 0, 1))
        expect(zone.asked()).toBeLessThanOrEqual(1200)
      }
    }
  })
})

function take<Item>(items: Iterable<Item>, count: number): Item[] {
  const taken: Item[] = []
  for (const item of items) if (taken.push(item) === count) break
  return taken
}

function countingZone(name: string): Zone & { asked(): number } {
  const zone = zoneNamed(name)
  let count = 0
  const segmentAt = (ms: number) => {
    count++
    return zone.segmentAt(ms)
  }
  return { name, segmentAt, offsetAt: (ms: number) => segmentAt(ms).offset, asked: () => count } as Zone & { asked(): number }
}
