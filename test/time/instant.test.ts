import { describe, expect, it } from 'vitest'
import { isoText, parseInstant } from '../../src/time/instant.ts'

describe('instants', () => {
  const at = Date.UTC(2026, 10, 15, 6, 0, 0)

  it.each([
    '2026-11-15T06:00:00Z',
    '2026-11-15T06:00Z',
    '2026-11-15T06:00:00.000Z',
    '2026-11-15T07:00:00+01:00',
    '2026-11-15T00:30:00-0530',
    '2026-11-15T06:00:00.000000001Z',
    new Date(at),
  ])('%s is read', (input) => {
    expect(parseInstant(input)).toBe(at)
  })

  it.each([
    '2026-11-15T06:00:00',
    '2026-11-15',
    '06:00',
    'tomorrow',
    '',
    '2026-13-01T00:00:00Z',
    '2026-11-15T25:00:00Z',
    '2026-11-15 06:00:00Z',
    '2026-11-15T06:00:00 Z',
    new Date(Number.NaN),
    5,
    null,
    undefined,
    {},
    5n,
  ])('%o is refused: a text must carry its offset', (input) => {
    expect(() => parseInstant(input as never, 'runAt')).toThrow(
      expect.objectContaining({
        code: 'instant.invalid',
        message: expect.stringMatching(/^runAt must be a Date or an ISO 8601 text with an offset/),
        details: expect.objectContaining({ field: 'runAt' }),
      }),
    )
  })

  it('are written with their offset', () => {
    expect(isoText(at)).toBe('2026-11-15T06:00:00.000Z')
    expect(parseInstant(isoText(at))).toBe(at)
  })

  it.each([
    new Date(8.64e15),
    new Date('+010000-01-01T00:00:00Z'),
    new Date('-000001-12-31T23:59:59Z'),
    '9999-12-31T23:59:59-01:00',
  ])('%s is refused: no text of ours could be read back', (input) => {
    expect(() => parseInstant(input)).toThrow(expect.objectContaining({ code: 'instant.invalid' }))
  })

  it.each(['2026-02-30T00:00:00Z', '2026-04-31T00:00:00Z'])('%s, a day that no calendar has, is refused', (input) => {
    expect(() => parseInstant(input)).toThrow(expect.objectContaining({ code: 'instant.invalid' }))
  })
})
