import { describe, expect, it } from 'vitest'
import { checkKey, checkName, checkOneOf, checkOptions, checkWhole, limits } from '../../src/model/limits.ts'

describe('TM-16 names and keys', () => {
  it('are texts of 1 to 100 and 1 to 200 characters', () => {
    for (const name of ['a', 'x'.repeat(100), 'invoice/acme', 'Rechnung für Åse', 'a b', '日本'])
      expect(checkName(name, 'name')).toBe(name)
    expect(checkKey('x'.repeat(200), 'key')).toHaveLength(200)
    expect([limits.name, limits.key, limits.entity, limits.scheduleText, limits.zone]).toEqual([100, 200, 200, 256, 100])
  })

  it.each([
    ['', 'it is empty'],
    ['   ', 'it is empty'],
    ['x'.repeat(101), 'it has 101'],
    [' a', 'begins or ends with a blank'],
    ['a\n', 'begins or ends with a blank'],
    ['a\u0000b', 'control character'],
    ['a\tb', 'control character'],
    ['a\ud800', 'control character'],
    [undefined, 'got undefined'],
    [null, 'got null'],
    [5, 'got 5'],
    [['a'], 'got an array'],
    [{ toString: () => 'a' }, 'got an object'],
  ])('%j is refused as a name', (value, reason) => {
    expect(() => checkName(value, 'name of a job')).toThrow(
      expect.objectContaining({
        code: 'name.invalid',
        message: expect.stringContaining(reason),
        details: expect.objectContaining({ field: 'name of a job', max: 100 }),
      }),
    )
  })

  it('too long a key is refused as a key, with its length and the limit', () => {
    expect(() => checkKey('x'.repeat(201), 'key')).toThrow(
      expect.objectContaining({ code: 'key.invalid', message: 'key must be a text of 1 to 200 characters; it has 201' }),
    )
  })
})

describe('options', () => {
  it('that are not known are refused with the allowed ones', () => {
    expect(() => checkOptions({ a: 1, c: 2 }, ['a', 'b'], 'enqueue')).toThrow(
      expect.objectContaining({
        code: 'option.unknown',
        message: 'enqueue has no option "c"; allowed are a, b',
        details: { field: 'enqueue', option: 'c', allowed: ['a', 'b'] },
      }),
    )
  })

  it('may be left out, and must otherwise be an object', () => {
    expect(() => checkOptions(undefined, [], 'enqueue')).not.toThrow()
    for (const value of [null, [], 'text', 5, () => 1])
      expect(() => checkOptions(value, [], 'enqueue')).toThrow(expect.objectContaining({ code: 'option.invalid' }))
  })

  it('that count are whole numbers within a range', () => {
    expect([checkWhole(0, 'n', 0, 9), checkWhole(9, 'n', 0, 9)]).toEqual([0, 9])
    for (const value of [-1, 10, 1.5, Number.NaN, '5', null, undefined, 5n, Object.create(null)]) {
      expect(() => checkWhole(value, 'n', 0, 9)).toThrow(
        expect.objectContaining({ code: 'option.invalid', details: expect.objectContaining({ field: 'n', min: 0, max: 9 }) }),
      )
    }
  })

  it('that choose name what there is to choose', () => {
    expect(checkOneOf('a', 'mode', ['a', 'b'])).toBe('a')
    for (const value of ['c', null, Object.create(null), Symbol('a')])
      expect(() => checkOneOf(value, 'mode', ['a', 'b'])).toThrow(/mode must be one of a, b/)
  })
})
