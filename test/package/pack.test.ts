import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { npm, pack } from '../../scripts/pack.mjs'

describe('the packed package, installed into an empty project', () => {
  const project = mkdtempSync(join(tmpdir(), 'punctual-project-'))
  afterAll(() => rmSync(project, { recursive: true, force: true }))

  beforeAll(() => {
    const packed = pack(project)
    if (!packed.ok) throw new Error(packed.output)
    writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'empty', private: true, type: 'module' }))
    const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
    const install = npm(['install', packed.file, ...flags], { cwd: project })
    if (install.status !== 0) throw new Error(install.stdout + install.stderr)
  }, 180_000)

  test("runs the README's first example with plain node", () => {
    const { language, code, output } = firstExample(readFileSync('README.md', 'utf8'))
    const file = `first-example.${language}`
    writeFileSync(join(project, file), code)
    expect(execFileSync(process.execPath, [file], { cwd: project, encoding: 'utf8' }).trimEnd()).toBe(output)
  })

  test('has a command that tells its version', () => {
    const { version, bin } = JSON.parse(readFileSync('package.json', 'utf8'))
    const main = join(project, 'node_modules', 'punctual', bin.punctual)
    expect(execFileSync(process.execPath, [main, '--version'], { encoding: 'utf8' }).trim()).toBe(version)
  })

  test('works without the driver of PostgreSQL, and says how to get it', () => {
    const { bin } = JSON.parse(readFileSync('package.json', 'utf8'))
    const main = join(project, 'node_modules', 'punctual', bin.punctual)
    const args = [main, 'jobs', '--store', 'postgres://ada:hunter2@localhost/app']
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' })
    expect(status).toBe(1)
    expect(stderr).toContain('needs the package pg, which is not installed; run: npm install pg (config.invalid)')
    expect(stderr).not.toContain('hunter2')
  })
})

/** The first js or ts block under "A first example", and the text block after it, which is what it prints. */
function firstExample(readme: string) {
  const [, section = ''] = readme.split(/^#+ A first example\s*$/m)
  const blocks = [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', body = '']) => ({ language, body }))
  const at = blocks.findIndex(({ language }) => language === 'js' || language === 'ts')
  const [example, output] = blocks.slice(at)
  if (at < 0 || !example || output?.language !== 'text') {
    throw new Error('README.md needs, under "A first example", a js or ts block and then a text block with its output')
  }
  return { language: example.language, code: example.body, output: output.body.trimEnd() }
}
