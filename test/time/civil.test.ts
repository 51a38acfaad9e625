import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'
import {
  civilFromDay,
  dayFromCivil,
  dayOf,
  isDate,
  monthLength,
  monthOf,
  wallText,
  weekdayOf,
  yearOf,
} from '../../src/time/civil.ts'
import { instantOfWall, startOfDay } from '../../src/time/local-time.ts'
import { zoneNamed } from '../../src/time/zone.ts'

describe('the calendar in integers', () => {
  it('agrees with Date over its whole range', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e8, max: 1e8 }), (day) => {
        const date = new Date(day * 86_400_000)
        const civil = civilFromDay(day)
        expect([yearOf(civil), monthOf(civil), dayOf(civil)]).toEqual([
          date.getUTCFullYear(),
          date.getUTCMonth() + 1,
          date.getUTCDate(),
        ])
        expect(weekdayOf(day)).toBe(date.getUTCDay())
        expect(dayFromCivil(yearOf(civil), monthOf(civil), dayOf(civil))).toBe(day)
        const lastOfMonth = new Date(0).setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)
        fc.pre(!Number.isNaN(lastOfMonth))
        expect(monthLength(yearOf(civil), monthOf(civil))).toBe(new Date(lastOfMonth).getUTCDate())
      }),
      { numRuns: 5000, seed: 17 },
    )
  })

  it('agrees with Date on every day of four centuries', () => {
    for (let day = dayFromCivil(1800, 1, 1); day < dayFromCivil(2200, 1, 1); day++) {
      const civil = civilFromDay(day)
      if (dayFromCivil(yearOf(civil), monthOf(civil), dayOf(civil)) !== day) throw new Error(`day ${day}`)
      if (new Date(day * 86_400_000).toISOString().slice(0, 10) !== wallText(day * 86_400_000).slice(0, 10))
        throw new Error(`day ${day}`)
    }
  })

  it('knows which dates exist', () => {
    expect(isDate(2024, 2, 29)).toBe(true)
    for (const [year, month, date] of [
      [2026, 2, 29],
      [2026, 0, 1],
      [2026, 13, 1],
      [2026, 4, 31],
      [2026, 1, 0],
      [1900, 2, 29],
    ] as const)
      expect(isDate(year, month, date)).toBe(false)
  })
})

describe('wall times as instants', () => {
  it('follow Temporal: the first pass of an overlap, and on by the gap', () => {
    const zones = [
      'UTC',
      'America/New_York',
      'Australia/Lord_Howe',
      'America/Sao_Paulo',
      'Pacific/Apia',
      'Antarctica/Troll',
      'Asia/Pyongyang',
      'Africa/Cairo',
    ]
    const changes = [
      '2025-03-09T02:30',
      '2025-11-02T01:30',
      '2025-10-05T02:15',
      '2026-04-05T01:45',
      '2018-11-04T00:00',
      '2019-02-16T23:30',
      '2011-12-30T12:00',
      '2025-03-30T02:00',
      '2018-05-04T23:45',
      '2024-10-31T23:30',
    ]
    const wall = fc.oneof(
      fc.integer({ min: Date.UTC(1975, 0, 1) / 60_000, max: Date.UTC(2040, 0, 1) / 60_000 }).map((minute) => minute * 60_000),
      fc
        .tuple(fc.constantFrom(...changes), fc.integer({ min: -1500, max: 1500 }))
        .map(([text, minutes]) => Date.parse(`${text}Z`) + minutes * 60_000),
    )
    fc.assert(
      fc.property(fc.constantFrom(...zones), wall, (name, ms) => {
        const expected = Temporal.PlainDateTime.from(wallText(ms)).toZonedDateTime(name, { disambiguation: 'compatible' })
        expect(instantOfWall(zoneNamed(name), ms)).toBe(expected.epochMilliseconds)
      }),
      { numRuns: 3000, seed: 19 },
    )
  })

  it('know where a date begins, at midnight or after it', () => {
    const zone = zoneNamed('America/Sao_Paulo')
    const day = dayFromCivil(2018, 11, 4)
    expect(new Date(startOfDay(zone, day)).toISOString()).toBe('2018-11-04T03:00:00.000Z')
  })
})
