import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorCodes, PunctualError, shown } from '../src/errors.ts'

describe('JS-12 PunctualError', () => {
  it('carries a code, a message, details and a cause', () => {
    const cause = new Error('beneath')
    const error = new PunctualError('store.busy', 'Try again', { path: 'x.db' }, { cause })
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      name: 'PunctualError',
      code: 'store.busy',
      message: 'Try again',
      details: { path: 'x.db' },
      cause,
    })
    expect(new PunctualError('store.busy', 'Try again').details).toEqual({})
  })

  it('has codes of the form noun.state, each listed once', () => {
    expect(new Set(errorCodes).size).toBe(errorCodes.length)
    for (const code of errorCodes) expect(code).toMatch(/^[a-z]+\.[a-z]+(-[a-z]+)*$/)
  })

  it('has no code that nothing throws', () => {
    const sources = globSync('src/**/*.ts', { exclude: ['src/errors.ts', 'src/testing/**'] }).map((file) =>
      readFileSync(file, 'utf8'),
    )
    const used = (code: string) => sources.some((source) => source.includes(`'${code}'`))
    expect(errorCodes.filter((code) => !used(code))).toEqual([])
  })
})

describe('docs/reference/errors.md', () => {
  const rows = readFileSync('docs/reference/errors.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()))

  it('lists every code, in order, and no other', () => {
    expect(rows.map(([, code]) => code?.replaceAll('`', ''))).toEqual([...errorCodes])
  })

  it('tells the cause of each and what to do', () => {
    for (const [, code, cause, remedy] of rows)
      expect(
        [cause?.length, remedy?.length].every((length) => (length ?? 0) > 3),
        code,
      ).toBe(true)
  })
})

describe('a refused value in a message', () => {
  it.each([
    ['text', '"text"'],
    ['x'.repeat(100), `"${'x'.repeat(80)}…"`],
    [5, '5'],
    [5n, '5n'],
    [Number.NaN, 'NaN'],
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'true'],
    [Symbol('s'), 'Symbol(s)'],
    [() => 1, 'a function'],
    [[1], 'an array'],
    [new Date(Number.NaN), 'a Date'],
    [Object.create(null), 'an object'],
    [{ toString: null }, 'an object'],
  ])('%# is short and never throws', (value, text) => {
    expect(shown(value)).toBe(text)
  })
})
