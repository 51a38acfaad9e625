import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const run = promisify(execFile)
const programs = readdirSync('examples').filter((file) => file.endsWith('.ts'))

describe('JB-23 examples', () => {
  test('there are some', () => {
    expect(programs.length).toBeGreaterThanOrEqual(4)
  })

  test.each(programs)('%s prints what stands beside it', async (program) => {
    const { stdout, stderr } = await run(process.execPath, [`examples/${program}`], { timeout: 30_000 })
    expect(stdout).toBe(readFileSync(`examples/${program.replace(/\.ts$/, '.out')}`, 'utf8'))
    expect(stderr).toBe('')
  })
})
