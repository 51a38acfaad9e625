import { describe, expect, test } from 'vitest'
import { lineLogger } from '../../src/cli/log.ts'

function written(isTTY: boolean) {
  const lines: string[] = []
  return { lines, log: lineLogger({ isTTY, write: (text: string) => lines.push(text) }) }
}

const hostile = 'a\r\nb\u001b[31mc\u202ed'

describe('log lines', () => {
  test('are JSON where no person reads along', () => {
    const { lines, log } = written(false)
    log.warn('retrying', { job: 'x', error: hostile })
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] as string)).toMatchObject({ level: 'warn', message: 'retrying', job: 'x', error: hostile })
    expect(lines[0]?.trimEnd()).not.toContain('\n')
  })

  test('keep their own text beside a field of the same name', () => {
    const { lines, log } = written(false)
    log.error('refused', { message: 'm-1', level: 'low', job: 'x' })
    expect(JSON.parse(lines[0] as string)).toMatchObject({ level: 'error', message: 'refused', job: 'x' })
  })

  test('are short on a terminal, and leave out what is not there', () => {
    const { lines, log } = written(true)
    log.info('completed', { job: 'x', key: null, turn: 1 })
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d info {2}completed job=x turn=1\n$/)
  })

  test('S31: cannot be broken or steered by what a job says', () => {
    const { lines, log } = written(true)
    log.error(hostile, { error: hostile })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('a\\u{d}\\u{a}b\\u{1b}[31mc\\u{202e}d')
    expect(lines[0]?.trimEnd()).not.toMatch(/[\p{Cc}\u202e]/u)
  })

  test('take the form that is asked for: JSON on a terminal, or errors alone, in short', () => {
    const lines: string[] = []
    const stream = { isTTY: true, write: (text: string) => lines.push(text) }
    lineLogger(stream, 'json').info('completed', { job: 'x' })
    const quiet = lineLogger({ ...stream, isTTY: false }, 'quiet')
    quiet.warn('retrying', { job: 'x' })
    quiet.error('dead', { job: 'x', key: 'order-1', id: 'long', turn: 4 })
    quiet.error('dead', { job: 'y', key: null, id: 'long', turn: 4 })
    expect(lines).toHaveLength(3)
    expect(JSON.parse(lines[0] as string)).toMatchObject({ message: 'completed' })
    expect(lines[1]).toMatch(/^\d\d:\d\d:\d\d error dead job=x key=order-1\n$/)
    expect(lines[2]).toContain('job=y id=long')
  })

  test('of debug level are not written', () => {
    const { lines, log } = written(true)
    log.debug('noise')
    expect(lines).toEqual([])
  })
})
