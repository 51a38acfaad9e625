import { describe, expect, it } from 'vitest'
import { cron } from '../../src/schedule/cron.ts'
import { once } from '../../src/schedule/once.ts'
import { isStampOutdated, tzStamp } from '../../src/schedule/tz-stamp.ts'
import { union } from '../../src/schedule/union.ts'
import { tzVersion } from '../../src/time/zone.ts'

const at = Date.UTC(2026, 10, 15)
const oslo = cron('0 2 * * *', { timezone: 'Europe/Oslo' })

describe('JB-4 the zone data a plan was made by', () => {
  it('is told by version, year and a print of the rules', () => {
    expect(tzStamp(oslo, at)).toMatch(new RegExp(`^${tzVersion()} 2026 [0-9a-f]{8}$`))
    expect(tzStamp(oslo, at)).toBe(tzStamp(cron('5 5 * * *', { timezone: 'Europe/Oslo' }), at))
    expect(tzStamp(oslo, at)).not.toBe(tzStamp(cron('0 2 * * *', { timezone: 'Africa/Cairo' }), at))
  })

  it('is nothing where no zone has a say', () => {
    for (const schedule of [cron('0 2 * * *'), once('2026-01-01T00:00:00Z')]) {
      expect(tzStamp(schedule, at)).toBe('')
      expect(isStampOutdated('', schedule, '2099a')).toBe(false)
    }
  })

  it('is outdated only by newer data, and only where the rules of the own zones differ', () => {
    const [, , print] = tzStamp(oslo, at).split(' ')
    expect(isStampOutdated(`2020a 2026 ${print}`, oslo, '2026c')).toBe(false)
    expect(isStampOutdated('2020a 2026 00000000', oslo, '2026c')).toBe(true)
    expect(isStampOutdated('2026c 2026 00000000', oslo, '2026c')).toBe(false)
    expect(isStampOutdated('2026c 2026 00000000', oslo, '2025b')).toBe(false)
    expect(isStampOutdated('not a stamp', oslo, '2026c')).toBe(false)
  })

  it('counts every zone of a union', () => {
    const both = union([oslo, cron('0 2 * * *', { timezone: 'Africa/Cairo' })])
    expect(tzStamp(both, at)).not.toBe(tzStamp(oslo, at))
  })
})
