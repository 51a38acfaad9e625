import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { tool } from '../../scripts/tool.mjs'

const folder = import.meta.dirname
const lines = readFileSync(join(folder, 'mistakes.ts'), 'utf8').split('\n')
/** Each mistake is on the line below the text that the compiler must show for it. */
const mistakes = lines.flatMap((line, at) =>
  line.trim().startsWith('// says: ') ? [{ at: at + 2, says: line.trim().slice(9), code: lines[at + 1]?.trim() }] : [],
)

describe('what the compiler says about typical mistakes', () => {
  const shown = new Map<number, string>()

  beforeAll(() => {
    const { stdout } = spawnSync(process.execPath, [tool('tsc'), '--noEmit', '-p', folder], { encoding: 'utf8' })
    let last = 0
    for (const line of stdout.split('\n')) {
      const [, number, text = line] = /mistakes\.ts\((\d+),\d+\): error TS\d+: (.*)/.exec(line) ?? []
      if (number !== undefined) last = Number(number)
      shown.set(last, `${shown.get(last) ?? ''}${text}\n`)
    }
  })

  test.each(mistakes)('$code', ({ at, says }) => {
    expect(shown.get(at)).toContain(says)
  })

  test('nothing else is wrong in the file', () => {
    expect([...shown.keys()].filter((line) => line > 0).sort((a, b) => a - b)).toEqual(mistakes.map(({ at }) => at))
  })
})
