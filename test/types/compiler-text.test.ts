import { spawnSync } from 'node:child_process'
import { beforeAll, describe, expect, test } from 'vitest'
import { tool } from '../../scripts/tool.mjs'
import { mistakesOf, textByLine } from './mistakes-text.ts'

const mistakes = mistakesOf()

describe('what the compiler says about typical mistakes', () => {
  let shown: Map<number, string>

  beforeAll(() => {
    const { stdout } = spawnSync(process.execPath, [tool('tsc'), '--noEmit', '--pretty', '-p', import.meta.dirname], {
      encoding: 'utf8',
    })
    shown = textByLine(stdout)
  })

  test.each(mistakes)('$code', ({ at, says }) => {
    expect(shown.get(at)).toContain(says)
  })

  test('nothing else is wrong in the file', () => {
    expect([...shown.keys()].filter((line) => line > 0).sort((a, b) => a - b)).toEqual(mistakes.map(({ at }) => at))
  })
})
