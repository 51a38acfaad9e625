import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPunctual, defineJob } from 'punctual'
import { createHandler, toNodeHandler } from 'punctual/http'
import { sqlite } from 'punctual/sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { diagnose } from '../../src/cli/doctor.ts'
import { schedulerEnv } from '../../src/client/scheduler-env.ts'
import { Tokens } from '../../src/http/access/tokens.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { punctual } from './punctual-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'punctual-doctor-'))
const file = join(folder, 'work.db')
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const report = defineJob('report', () => 1)
const node = createPunctual({ store: sqlite(file), jobs: [report], log: silent })

beforeAll(() => node.runDue())
afterAll(async () => {
  await node.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('doctor', () => {
  test('finds that no node runs, and that due work has no handlers', async () => {
    await node.enqueue('report', undefined)
    const found = await diagnose({ store: `sqlite:${file}` })
    const bySubject = Object.fromEntries(found.map(({ subject, state }) => [subject, state]))
    expect(bySubject).toMatchObject({ schema: 'ok', sqlite: 'ok', store: 'ok', clock: 'ok', nodes: 'warn', late: 'ok' })
    expect(found.find(({ subject }) => subject === 'nodes')?.advice).toContain('punctual serve')
  })

  test('fails on tables that are not there, with what to do', async () => {
    const url = new URL(await sharedPostgresUrl())
    url.searchParams.set('schema', freshSchemaName())
    const found = await diagnose({ store: url.href })
    expect(found).toMatchObject([{ state: 'fail', subject: 'schema', advice: 'Run punctual migrate' }])
  })

  test('fails on a store that does not answer', async () => {
    const found = await diagnose({ store: 'postgres://ada@127.0.0.1:1/x' })
    expect(found.at(-1)).toMatchObject({ state: 'fail', subject: 'store' })
  })
})

describe('a server instead of a store', () => {
  test('commands act with the token; without one they are refused, and a viewer may not act', async () => {
    const server = createServer(toNodeHandler(createHandler(node, { log: silent })))
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const tokens = new Tokens(schedulerEnv(node))
    const tokenOf = async (role: 'viewer' | 'operator') =>
      (await tokens.create({ name: `a ${role}`, role, tenants: null, expiresInMs: null, createdBy: null })).secret
    const run = (token: string, ...args: string[]) => punctual([...args, '--server', url], { env: { PUNCTUAL_TOKEN: token } })
    const operator = await tokenOf('operator')
    const { code, stdout } = await run(operator, 'enqueue', 'report', '--key', 'far', '--delay', '1h', '--json')
    expect(code).toBe(0)
    const { id } = JSON.parse(stdout)
    expect((await run(operator, 'occurrences', '--ndjson')).stdout).toContain(id)
    expect((await run(operator, 'cancel', '--job', 'report', '--key', 'far')).stdout).toBe('canceled\n')
    const refused = await run(await tokenOf('viewer'), 'trigger', 'report')
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('This needs the role operator') })
    expect((await punctual(['jobs', '--server', url])).stderr).toContain('(server.refused)')
    expect((await punctual(['jobs', '--server', url, '--by', 'ada'])).code).toBe(2)
    server.closeAllConnections()
    server.close()
  })

  test('a server that is away, and addresses that are none', async () => {
    expect((await punctual(['jobs', '--server', 'http://127.0.0.1:1/'])).stderr).toContain('(server.unreachable)')
    expect((await punctual(['jobs', '--server', 'jobs.example'])).stderr).toContain('(config.invalid)')
    const both = await punctual(['jobs', '--server', 'http://127.0.0.1:1/', '--store', 'sqlite:x.db'])
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('a store or a server, not both') })
  })
})

describe('settings', () => {
  test('flags win over the environment, that over the file, and the origin is told', async () => {
    writeFileSync(join(folder, 'punctual.config.ts'), `export default { store: 'sqlite:${file}', port: 8080, log: 'quiet' }\n`)
    expect((await punctual(['jobs', '--json'], { cwd: folder })).code).toBe(0)
    const env = { PUNCTUAL_PORT: '9090' }
    const { stdout } = await punctual(['config', 'print', '--origin', '--json'], { cwd: folder, env })
    expect(JSON.parse(stdout)).toMatchObject({
      port: { value: '9090', origin: 'PUNCTUAL_PORT' },
      log: { value: 'quiet', origin: 'punctual.config.ts' },
      host: { value: '127.0.0.1', origin: 'default' },
    })
    const missing = await punctual(['jobs'], { cwd: folder, env: { PUNCTUAL_STORE: 'sqlite:./nope.db' } })
    expect(missing.stderr).toContain('There is no file ./nope.db')
  })

  test.each([
    ['{ sotre: 1 }', {}, 'Did you mean store?'],
    ['{ port: 99999 }', {}, 'It must be a whole number from 0 to 65535'],
    ['{ log: "loud" }', {}, 'Allowed choices'],
    ['{ store: {} }', {}, 'store must be a text or a number'],
    ['[]', {}, 'must export an object'],
    ['{}', { PUNCTUAL_STROE: 'x' }, 'Did you mean PUNCTUAL_STORE?'],
  ])('%s with %j is refused', async (text, env, message) => {
    writeFileSync(join(folder, 'other.config.ts'), `export default ${text}\n`)
    const { code, stderr } = await punctual(['config', 'print', '--config', 'other.config.ts'], { cwd: folder, env })
    expect(code).toBe(1)
    expect(stderr).toContain(message)
  })

  test('the links that Kubernetes makes of a service are no settings', async () => {
    const env = {
      PUNCTUAL_SERVICE_HOST: '10.0.0.1',
      PUNCTUAL_PORT_3000_TCP_ADDR: '10.0.0.1',
      PUNCTUAL_PORT: 'tcp://10.0.0.1:3000',
    }
    expect((await punctual(['config', 'print'], { env })).code).toBe(0)
  })
})

test.each(['bash', 'zsh', 'fish'])('completion for %s knows commands, flags and choices', async (shell) => {
  const { code, stdout } = await punctual(['completion', shell])
  expect(code).toBe(0)
  for (const word of ['occurrences', 'rollback', 'retrying', 'idempotency-key']) expect(stdout).toContain(word)
})

const hasBash = spawnSync('bash', ['--version']).status === 0

test.skipIf(!hasBash)('a real bash completes commands, words of commands and flags', async () => {
  const { stdout } = await punctual(['completion', 'bash'])
  const complete = (...words: string[]) => {
    const typed = words.map((word) => `'${word}'`).join(' ')
    const act = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; $(complete -p punctual | sed -E 's/.*-F ([^ ]+).*/\\1/'); echo "\${COMPREPLY[@]}"`
    return spawnSync('bash', ['-c', `${stdout}\n${act}`], { encoding: 'utf8' })
      .stdout.trim()
      .split(' ')
  }
  expect(complete('punctual', 'jo')).toEqual(['jobs'])
  expect(complete('punctual', 'jobs', 'roll')).toEqual(['rollback'])
  expect(complete('punctual', 'occurrences', '--idem')).toContain('--idempotency-key')
  expect(complete('punctual', 'jobs', '--store', 'sqlite:a.db', 'roll')).toEqual(['rollback'])
  expect(complete('punctual', 'jobs', 'show', 'report', '--js')).toEqual(['--json'])
})

const has = (shell: string) => spawnSync(shell, ['--version']).status === 0

test.skipIf(!has('zsh'))('a real zsh completes, sourced and as a function of its path', async () => {
  const { stdout } = await punctual(['completion', 'zsh'])
  const folder = mkdtempSync(join(tmpdir(), 'punctual-zsh-'))
  writeFileSync(join(folder, '_punctual'), stdout)
  const complete = (load: string, ...words: string[]) => {
    const typed = words.map((word) => `'${word}'`).join(' ')
    const describe = `compdef() {}; _describe() { print -rl -- "\${(@P)2}" }; _files() {}`
    const act = `${describe}; ${load}; words=(${typed}); CURRENT=${words.length}; _punctual`
    const { stdout: found, stderr } = spawnSync('zsh', ['-fc', act], { encoding: 'utf8', cwd: folder })
    expect(stderr).toBe('')
    return found.trim().split('\n')
  }
  for (const load of ['source ./_punctual', 'fpath=(. $fpath); autoload -U _punctual']) {
    expect(complete(load, 'punctual', '')).toContain('jobs:List the jobs, show one with its versions, change it and run it')
    expect(complete(load, 'punctual', 'jobs', '')).toContain("reset:Take a person's changes back")
    expect(complete(load, 'punctual', 'occurrences', 'list', '--state', '')).toContain('retrying')
    expect(complete(load, 'punctual', '--config', 'a.ts', 'jobs', 'list', '--mark', '')).toContain('orphaned')
  }
  rmSync(folder, { recursive: true })
})

test.skipIf(!has('fish'))('a real fish completes commands, flags and choices at their place', async () => {
  const { stdout } = await punctual(['completion', 'fish'])
  const folder = mkdtempSync(join(tmpdir(), 'punctual-fish-'))
  writeFileSync(join(folder, 'punctual.fish'), stdout)
  const complete = (line: string) =>
    spawnSync('fish', ['-c', `source punctual.fish; complete -C '${line}'`], { encoding: 'utf8', cwd: folder })
      .stdout.trim()
      .split('\n')
      .map((found) => found.split('\t', 1)[0])
  expect(complete('punctual jo')).toEqual(['jobs'])
  expect(complete('punctual jobs res')).toEqual(['reset', 'resume'])
  expect(complete('punctual occurrences --idem')).toEqual(['--idempotency-key'])
  expect(complete('punctual occurrences list --state ret')).toEqual(['retrying'])
  expect(complete('punctual jobs list --mark or')).toEqual(['orphaned'])
  expect(complete('punctual --ver')).toEqual(['--version'])
  expect(complete('punctual --config a.ts jobs --store sqlite:a.db res')).toEqual(['reset', 'resume'])
  // The words of one command are no words of another: jobs cancel is not cancel.
  expect(complete('punctual jobs cancel --st')).toEqual(['--store'])
  rmSync(folder, { recursive: true })
})
