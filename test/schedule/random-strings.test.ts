import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PunctualError } from '../../src/errors.ts'
import { cron } from '../../src/schedule/cron.ts'
import { parseSchedule } from '../../src/schedule/parse-text.ts'
import { nextMs } from '../../src/schedule/schedule.ts'

// Searches are bounded by turns (cron-search.test.ts), so none of these can hang; bench/time shows how long each takes.

const nearCron = fc
  .array(fc.array(fc.constantFrom(...'0123456789*/,-?LW#MONFEB'), { minLength: 1, maxLength: 6 }), { minLength: 4, maxLength: 7 })
  .map((fields) => fields.map((field) => field.join('')).join(' '))
const cutCron = fc
  .tuple(
    fc.constantFrom('0 9 * * MON-FRI', '*/15 8-18/2 L-3W JAN,JUL 5#2', '@hourly'),
    fc.nat(40),
    fc.string({ unit: 'binary', maxLength: 3 }),
  )
  .map(([text, cut, put]) => text.slice(0, cut) + put + text.slice(cut + 1))
const anyText = fc.oneof(nearCron, cutCron, fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ maxLength: 40 }))

describe('TM-16 S15 100,000 random strings', () => {
  it('are parsed, and then have a next instant or none, or are refused with position and reason', () => {
    let parsed = 0
    fc.assert(
      fc.property(anyText, (text) => {
        const schedule = parsedOrRefused(() => cron(text), text)
        if (!schedule) return
        parsed++
        const next = schedule.nextMs(0)
        if (next !== null) expect(schedule.previousMs(next + 1)).toBe(next)
      }),
      { numRuns: 90_000, seed: 3, endOnFailure: true },
    )
    expect(parsed).toBeGreaterThan(500)
  })

  it('are refused in the same way whatever kind of schedule they look like', () => {
    const isoLike = fc.array(fc.constantFrom(...'RPT0123456789YMWDHS/-:.,Z+'), { maxLength: 40 }).map((all) => all.join(''))
    const ruleLike = fc
      .array(
        fc.constantFrom(
          'FREQ=',
          'DAILY',
          ';',
          'COUNT=',
          '3',
          'DTSTART:',
          '20260101T000000Z',
          '\n',
          'RRULE:',
          'BYDAY=',
          'MO',
          'EXDATE:',
        ),
        { maxLength: 9 },
      )
      .map((all) => all.join(''))
    fc.assert(
      fc.property(
        fc.oneof(
          isoLike,
          isoLike.map((text) => `P${text}`),
          isoLike.map((text) => `R/2026-01-01T00:00Z/P${text}`),
          ruleLike,
        ),
        (text) => {
          const schedule = parsedOrRefused(() => parseSchedule(text), text)
          if (schedule) nextMs(schedule, Date.UTC(2026, 0, 1))
        },
      ),
      { numRuns: 10_000, seed: 3, endOnFailure: true },
    )
  })
})

function parsedOrRefused<Parsed>(parse: () => Parsed, text: string): Parsed | null {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof PunctualError) || error.code !== 'schedule.invalid') throw error
    const { position, reason } = error.details
    const isPlace = typeof position === 'number' && position >= 0 && position <= text.length
    if (!isPlace || typeof reason !== 'string' || reason === '')
      throw new Error(`${JSON.stringify(text)} was refused at ${position}: ${reason}`)
    return null
  }
}
