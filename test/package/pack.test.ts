import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiPage } from '../../scripts/api.mjs'
import { npm, pack } from '../../scripts/pack.mjs'
import { tool } from '../../scripts/tool.mjs'
import { mistakesFile, mistakesOf, textByLine } from '../types/mistakes-text.ts'

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

  test('writes a starter project that installs, compiles and passes its test', () => {
    const main = join(project, 'node_modules', 'punctual', 'dist', 'cli', 'main.js')
    const starter = join(project, 'shop')
    execFileSync(process.execPath, [main, 'init', 'shop'], { cwd: project, encoding: 'utf8' })
    const file = join(starter, 'package.json')
    const made = JSON.parse(readFileSync(file, 'utf8'))
    const [tarball] = globSync('*.tgz', { cwd: project })
    writeFileSync(file, JSON.stringify({ ...made, dependencies: { ...made.dependencies, punctual: `file:../${tarball}` } }))
    const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
    const install = npm(['install', ...flags], { cwd: starter })
    expect(install.status, install.stderr).toBe(0)
    const compiled = npm(['run', 'check'], { cwd: starter })
    expect(compiled.status, compiled.stdout).toBe(0)
    const tested = npm(['test'], { cwd: starter })
    expect(tested.stdout).toMatch(/pass 1\b/)
    const again = spawnSync(process.execPath, [main, 'init', 'shop'], { cwd: project, encoding: 'utf8' })
    expect(again.status).toBe(1)
    expect(again.stderr).toContain('choose an empty folder')
  }, 180_000)

  test('is small', () => {
    const [{ size, entryCount }] = JSON.parse(npm(['pack', '--dry-run', '--ignore-scripts', '--json', '--loglevel=error']).stdout)
    expect(size).toBeLessThan(1_000_000)
    expect(entryCount).toBeLessThan(150)
  })

  describe('with the drivers', () => {
    beforeAll(() => linkPeers(project))
    afterAll(() => unlinkPeers(project))

    test.each([
      ['nodenext', 'nodenext'],
      ['preserve', 'bundler'],
    ])('has strict types for every entry point with module %s and moduleResolution %s', (module, moduleResolution) => {
      const doors = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).exports).filter(
        (door) => door !== './package.json',
      )
      const imports = doors.map((door, at) => `import * as door${at} from '${door.replace('.', 'punctual')}'\nvoid door${at}\n`)
      writeFileSync(join(project, 'doors.ts'), imports.join(''))
      expect(compile(project, 'doors.ts', { module, moduleResolution, skipLibCheck: false })).toBe('')
    })

    test('has the same texts of the compiler for typical mistakes as the sources', () => {
      cpSync(mistakesFile, join(project, 'mistakes.ts'))
      const shown = textByLine(compile(project, 'mistakes.ts', { module: 'nodenext', exactOptionalPropertyTypes: true }))
      for (const { at, says } of mistakesOf()) expect(shown.get(at)).toContain(says)
      expect([...shown.keys()].filter((line) => line > 0).length).toBe(mistakesOf().length)
    })
  })

  test('has the comment of every public name in its declarations, under the name it has in the sources', () => {
    const dist = join(project, 'node_modules', 'punctual', 'dist')
    const text = globSync('**/*.d.ts', { cwd: dist })
      .map((file) => readFileSync(join(dist, file), 'utf8'))
      .join('\n')
    expect(text.match(/\b\w+\$\d+/g)).toBe(null)
    const comments = text.replace(/^\s*\*(?!\/) ?/gm, ' ').replace(/\s+/g, ' ')
    const sentences = [...apiPage().page.matchAll(/^\| `\w+` \| (.+) \|$/gm)].map(([, sentence = '']) =>
      sentence.replaceAll('\\|', '|'),
    )
    expect(sentences.length).toBeGreaterThan(200)
    expect(sentences.filter((sentence) => !comments.includes(sentence))).toEqual([])
  })

  test('runs a handler in a thread, and beats from a thread while a handler blocks', () => {
    writeFileSync(join(project, 'square.js'), 'export const handler = ({ payload }) => payload * payload\n')
    writeFileSync(
      join(project, 'threads.js'),
      `import { createPunctual, defineJob } from 'punctual'
import { sqlite } from 'punctual/sqlite'
const square = defineJob('square').task('run', { runIn: 'worker', module: new URL('./square.js', import.meta.url) })
let runs = 0
const block = defineJob('block', () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500)
  return ++runs
})
const node = { heartbeat: 200, timeout: 800, checkInterval: 200 }
const punctual = createPunctual({ store: sqlite('threads.db'), jobs: [square, block], node })
await punctual.start()
console.log(await (await punctual.enqueue(square, 7)).result())
console.log(await (await punctual.enqueue(block)).result(), runs)
await punctual.close()
`,
    )
    expect(execFileSync(process.execPath, ['threads.js'], { cwd: project, encoding: 'utf8' })).toBe('49\n1 1\n')
  })

  test('has a manual clock that does not move while a handler waits for a long real timer, and names the handler', () => {
    writeFileSync(
      join(project, 'long-timer.js'),
      `import { createPunctual, defineJob } from 'punctual'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'
const clock = manualClock()
let timer
const slow = defineJob('slow', () => new Promise((done) => { timer = setTimeout(done, 60_000) }))
const punctual = createPunctual({ store: memory(), jobs: [slow], clock })
await punctual.start()
const { id } = await punctual.enqueue(slow)
await clock.advance('1h').catch(({ details }) => console.log(details.handler))
console.log((await punctual.get(id)).state)
clearTimeout(timer)
await punctual.close()
`,
    )
    expect(execFileSync(process.execPath, ['long-timer.js'], { cwd: project, encoding: 'utf8' })).toMatch(/slow.*\nrunning\n/)
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

const peers = ['@types/node', '@types/pg', 'pg', '@nats-io/transport-node', '@opentelemetry/api', 'rabbitmq-client']

/** Makes the drivers and the types of Node.js, which a user installs, resolvable in the project. */
function linkPeers(project: string) {
  for (const name of peers) {
    const link = join(project, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(resolve('node_modules', name), link, 'junction')
  }
}

function unlinkPeers(project: string) {
  for (const name of peers) unlinkSync(join(project, 'node_modules', name))
}

/** The compiler's text about a file of the project: nothing, where all is well. */
function compile(project: string, file: string, options: object): string {
  const compilerOptions = { target: 'es2024', strict: true, noEmit: true, types: ['node'], skipLibCheck: true, ...options }
  const settings = join(project, `tsconfig.${file}.json`)
  writeFileSync(settings, JSON.stringify({ compilerOptions, files: [file] }))
  return spawnSync(process.execPath, [resolve(tool('tsc')), '--pretty', '-p', settings], { cwd: project, encoding: 'utf8' })
    .stdout
}

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
