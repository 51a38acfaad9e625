import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { tool } from '../../scripts/tool.mjs'
import { read } from './page.ts'

const folder = mkdtempSync(join(tmpdir(), 'punctual-examples-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every TypeScript example of the README, the guides and the reference compiles', () => {
  // The recipes for frameworks are files of the tests: test/frameworks/.
  const pages = globSync(['README.md', 'docs/*.md', 'docs/{guides,reference}/*.md'], { exclude: ['docs/guides/frameworks.md'] })
  expect(pages.flatMap(writeExamples).length).toBeGreaterThan(60)
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'junction')
  const compilerOptions = { noUncheckedIndexedAccess: false, exactOptionalPropertyTypes: false, noImplicitAny: false }
  const settings = {
    extends: resolve('tsconfig.json'),
    compilerOptions,
    include: [folder, resolve(import.meta.dirname, 'examples')],
    exclude: ['node_modules'],
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const { stdout } = spawnSync(process.execPath, [resolve(tool('tsc')), '-p', folder], { cwd: folder, encoding: 'utf8' })
  expect(stdout.split('\n').filter((line) => /^(README|docs)\b/.test(line))).toEqual([])
})

/** Each example is a module on the lines that it has on its page, so the compiler names the page and the line. */
function writeExamples(page: string): string[] {
  const text = read(page)
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(({ 1: code = '', index }) => {
    const line = text.slice(0, index).split('\n').length
    const [, name = `${line}.ts`] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? []
    const file = join(folder, dirname(page), basename(page, '.md'), name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${'\n'.repeat(line)}${code}export {}\n`)
    return file
  })
}
