import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tzVersion, zoneNamed } from '../../src/time/zone.ts'
import { isNewerTz, zoneRules } from '../../src/time/zone-rules.ts'
import { wallClock } from '../schedule/wall-scan.ts'

const zones = Intl.supportedValuesOf('timeZone')

describe('zone names', () => {
  it.each([
    'UTC',
    'Europe/Oslo',
    'America/Argentina/Buenos_Aires',
    'Etc/GMT+5',
    'EST5EDT',
    'europe/OSLO',
    'utc',
    'Asia/Calcutta',
  ])('%s is one, in the spelling given', (name) => {
    expect(zoneNamed(name).name).toBe(name)
  })

  it.each([
    '',
    'Europe/Nowhere',
    'local',
    '+02:00',
    '-05',
    'UTC+2',
    'Europe/Oslo ',
    ' UTC',
    'Europe',
    '../etc',
    `Europe/${'x'.repeat(100)}`,
    undefined,
    null,
    5,
    {},
  ])('%j is none', (name) => {
    expect(() => zoneNamed(name as string)).toThrow(
      expect.objectContaining({ code: 'zone.invalid', details: expect.objectContaining({ field: 'timezone' }) }),
    )
  })
})

describe('zone offsets', () => {
  it('agree with what Intl shows, in all zones at random instants of 1900–2100', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: Date.UTC(1900, 0, 1) / 1000, max: Date.UTC(2100, 0, 1) / 1000 }),
        (name, second) => {
          expect(zoneNamed(name).offsetAt(second * 1000)).toBe(wallClock(name)(second * 1000) - second * 1000)
        },
      ),
      { numRuns: 1500, seed: 13 },
    )
  })

  it('change to the second where Intl does, and folds are as long as the clock goes back', () => {
    for (const name of [
      'America/New_York',
      'Australia/Lord_Howe',
      'Africa/Monrovia',
      'Pacific/Apia',
      'Antarctica/Troll',
      'Africa/Casablanca',
    ]) {
      const zone = zoneNamed(name)
      const wallAt = wallClock(name)
      const until = Date.UTC(2040, 0, 1)
      for (let end = zone.segmentAt(Date.UTC(1960, 0, 1)).end; end < until; end = zone.segmentAt(end).end) {
        const [before, after] = [wallAt(end - 1000) - (end - 1000), wallAt(end) - end]
        expect([zone.offsetAt(end - 1), zone.offsetAt(end)]).toEqual([before, after])
        expect(zone.segmentAt(end - 1).repeatFrom).toBe(end - Math.max(before - after, 0))
        expect(zone.segmentAt(end).foldEnd).toBe(end + Math.max(before - after, 0))
      }
    }
  })

  it('keep segments longer than any shift, on which the walk of cron relies', () => {
    const twoDays = 2 * 86_400_000
    for (const name of [
      'Africa/Casablanca',
      'Africa/Cairo',
      'America/Argentina/San_Luis',
      'Asia/Gaza',
      'Antarctica/Casey',
      'Europe/Lisbon',
    ]) {
      const zone = zoneNamed(name)
      let start = Date.UTC(1970, 0, 1)
      for (let at = start; at < Date.UTC(2045, 0, 1); ) {
        const { end } = zone.segmentAt(at)
        if (zone.offsetAt(end) !== zone.offsetAt(at)) {
          expect(end - start).toBeGreaterThan(twoDays)
          start = end
        }
        at = end
      }
    }
  })

  it('are right on both sides of a fold that reaches over the edge of a block', () => {
    // Every edge of the table, looked at closely in a zone that changes often.
    const zone = zoneNamed('Africa/Casablanca')
    const wallAt = wallClock('Africa/Casablanca')
    const blockMs = 2 ** 26 * 1000
    for (let edge = 0; edge < Date.UTC(2045, 0, 1); edge += blockMs) {
      for (const ms of [edge - 1000, edge, edge + 1000]) expect(zone.offsetAt(ms)).toBe(wallAt(ms) - ms)
    }
  })

  it('are known for the far past and future', () => {
    const zone = zoneNamed('America/New_York')
    expect(zone.offsetAt(Date.UTC(1500, 0, 1))).toBe(-17_762_000)
    expect(zone.offsetAt(-8.64e15)).toBe(-17_762_000)
    expect(zone.offsetAt(Date.UTC(9999, 6, 1))).toBe(-14_400_000)
    expect(zone.offsetAt(8.64e15)).toBe(-14_400_000)
    expect(zone.segmentAt(8.64e15).end).toBe(Infinity)
  })

  it('are zero in UTC, in one segment', () => {
    expect(zoneNamed('UTC').segmentAt(0)).toMatchObject({ start: -Infinity, end: Infinity, offset: 0 })
  })
})

describe('zone rules as text', () => {
  const window = [Date.UTC(2026, 0, 1), Date.UTC(2028, 0, 1)] as const

  it('are equal for zones that agree, and differ for those that do not', () => {
    expect(zoneRules('Europe/Oslo', ...window)).toBe(zoneRules('Europe/Berlin', ...window))
    expect(zoneRules('Europe/Oslo', ...window)).not.toBe(zoneRules('Europe/London', ...window))
    expect(zoneRules('UTC', ...window)).toBe(':0')
    expect(zoneRules('Asia/Kolkata', ...window)).toBe(':19800')
    expect(zoneRules('Europe/Oslo', ...window).split(' ')).toHaveLength(5)
  })

  it('have versions that can be compared', () => {
    expect(tzVersion()).toMatch(/^\d{4}[a-z]$/)
    expect(isNewerTz('2026c', '2025c')).toBe(true)
    expect(isNewerTz('2026c', '2026b')).toBe(true)
    expect(isNewerTz('2026b', '2026b')).toBe(false)
    expect(isNewerTz('2025c', '2026a')).toBe(false)
    expect(isNewerTz('unknown', '2026a')).toBe(false)
  })
})
