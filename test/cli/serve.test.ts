import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, get as httpGet } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { PunctualProcess, punctual } from './punctual-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'punctual-serve-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

// Beside this test: there the file finds the package by its name.
const jobs = 'test/cli/serve-jobs.process.ts'
const fresh = (name: string) => `sqlite:${join(folder, name)}`

async function get(url: string, path: string): Promise<{ status: number; body: any }> {
  const response = await fetch(new URL(path, url))
  return { status: response.status, body: await response.json() }
}

async function started(process: PunctualProcess): Promise<string> {
  const [, url = ''] = await process.see(/runs at (http:\/\/\S+)/)
  return url
}

describe('punctual serve', () => {
  test('prints its address, runs the jobs, shows them, and stops cleanly on SIGINT', async () => {
    const store = fresh('whole.db')
    await using server = new PunctualProcess(['serve', '--store', store, '--jobs', jobs, '--port', '0'])
    const url = await started(server)
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
    await server.see(/Try next:[\s\S]*curl http/)

    const enqueued = await punctual(['enqueue', 'echo', '{"text":"hello"}', '--key', 'k1', '--json'], {
      env: { PUNCTUAL_STORE: store },
    })
    expect(enqueued.code).toBe(0)
    const { id } = JSON.parse(enqueued.stdout)
    await server.see(new RegExp(`"completed","job":"echo","key":"k1","id":"${id}"`))
    expect(await get(url, `/api/v1/occurrences/${id}`)).toMatchObject({
      status: 200,
      body: { state: 'completed', result: 'hello', key: 'k1' },
    })
    expect(await get(url, '/readyz')).toMatchObject({ status: 200, body: { state: 'ok' } })
    expect((await get(url, '/api/v1/jobs')).body.items.map((job: { name: string }) => job.name)).toContain('prepared')

    server.signal('SIGINT')
    const { code, stderr } = await server.finish()
    expect(code).toBe(0)
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.at(-1)).toMatchObject({ level: 'info', message: 'Stopped' })
  })

  test('JB-19: waits at SIGTERM for what runs; a second signal ends it at once', async () => {
    const store = fresh('grace.db')
    await using patient = new PunctualProcess(['serve', '--store', store, '--jobs', jobs, '--port', '0'])
    await started(patient)
    await punctual(['enqueue', 'deaf', '--store', store])
    await patient.see(/"started","job":"deaf"/)
    patient.signal('SIGTERM')
    await patient.see(/waiting for running work","running":1/)
    patient.signal('SIGTERM')
    expect((await patient.finish()).code).toBe(130)
  })

  test('a drained node exits with 0 once its work has ended, and a fresh one takes work again', async () => {
    const store = fresh('drain.db')
    const serve = ['serve', '--store', store, '--jobs', jobs, '--port', '0']
    await using server = new PunctualProcess(serve)
    const url = await started(server)
    const [{ name }] = (await get(url, '/api/v1/nodes')).body.items
    const drained = await punctual(['nodes', 'drain', name, '--by', 'ada', '--yes'], { env: { PUNCTUAL_STORE: store } })
    expect(drained).toMatchObject({ code: 0 })
    expect(drained.stdout).toMatch(/ drains/)
    await server.see(/this node drains/)
    expect((await server.finish()).code).toBe(0)
    await using again = new PunctualProcess(serve)
    await started(again)
    await punctual(['enqueue', 'echo', '{"text":"hello"}', '--store', store])
    await again.see(/"completed","job":"echo"/)
  })

  test('S02: without authentication it answers only to names of this machine', async () => {
    await using server = new PunctualProcess(['serve', '--store', 'memory:', '--jobs', jobs, '--port', '0'])
    const { port } = new URL(await started(server))
    const status = await new Promise((resolve, reject) => {
      httpGet({ port, path: '/api/v1/jobs', headers: { host: 'rebound.example' } }, (answer) => resolve(answer.statusCode)).on(
        'error',
        reject,
      )
    })
    expect(status).toBe(421)
  })

  test('flags win over PUNCTUAL_* and those over PORT', async () => {
    await using taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const PORT = String((taken.address() as AddressInfo).port)
    const env = { PUNCTUAL_STORE: 'memory:', PUNCTUAL_JOBS: jobs, PORT }
    const refused = await punctual(['serve'], { env })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain(`Cannot listen on port ${PORT} of 127.0.0.1: it is taken`)
    await using byVariable = new PunctualProcess(['serve'], { env: { ...env, PUNCTUAL_PORT: '0' } })
    await started(byVariable)
    await using byFlag = new PunctualProcess(['serve', '--port', '0'], { env: { ...env, PUNCTUAL_PORT: PORT } })
    await started(byFlag)
  })

  test('names the installation for the dashboard', async () => {
    const serve = ['serve', '--store', 'memory:', '--jobs', jobs, '--port', '0']
    await using byFlag = new PunctualProcess([...serve, '--label', 'production eu-1'])
    expect((await get(await started(byFlag), '/api/v1/server')).body.label).toBe('production eu-1')
    await using byVariable = new PunctualProcess(serve, { env: { PUNCTUAL_LABEL: 'staging' } })
    expect((await get(await started(byVariable), '/api/v1/server')).body.label).toBe('staging')
  })

  test('TM-9: starts while the store is away, and says so', async () => {
    writeFileSync(join(folder, 'blocked'), 'a file where a folder should be')
    await using server = new PunctualProcess([
      'serve',
      '--store',
      `sqlite:${join(folder, 'blocked', 'x.db')}`,
      '--jobs',
      jobs,
      '--port',
      '0',
    ])
    const url = await started(server)
    expect(await get(url, '/healthz')).toMatchObject({ status: 200, body: { state: 'degraded' } })
    expect((await get(url, '/readyz')).status).toBe(503)
    await server.see(/setup waits for the store/)
    rmSync(join(folder, 'blocked'))
    await server.see(/"health changed","state":"ok"/)
    await server.see(/"prepared by setup"/)
    expect((await get(url, '/readyz')).status).toBe(200)
    server.signal('SIGINT')
    expect((await server.finish()).code).toBe(0)
  })

  test('S01: beyond this machine nobody gets in without a token; the first start shows one, once', async () => {
    const store = fresh('tokens.db')
    const args = ['serve', '--store', store, '--jobs', jobs, '--host', '0.0.0.0', '--port', '0']
    const server = new PunctualProcess(args)
    const { port } = new URL(await started(server))
    await server.see(/curl -H "Authorization: Bearer \$PUNCTUAL_TOKEN" http\S+api\/v1\/jobs/)
    const [, token = ''] = await server.see(/Admin token, shown only this once:\s+(pt_\S+)/)
    const url = `http://127.0.0.1:${port}/api/v1/jobs`
    expect((await fetch(url)).status).toBe(401)
    expect((await fetch(url, { headers: { authorization: 'Bearer pt_default_token' } })).status).toBe(401)
    expect((await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200)
    server.signal('SIGINT')
    await server.finish()
    await using again = new PunctualProcess(args)
    await started(again)
    await again.see(/Ctrl-C stops it/)
    again.signal('SIGINT')
    expect((await again.finish()).stdout).not.toContain('Admin token')
  })
})

describe('the jobs file', () => {
  const serve = async (content: string, name = `${Math.random()}.mjs`) => {
    const file = join(folder, name)
    writeFileSync(file, content)
    return punctual(['serve', '--store', 'memory:', '--jobs', file, '--port', '0'])
  }

  test.each([
    ['a thing that is no job', 'export const port = 80', 'it exports no job'],
    ['nothing', 'const x = 1', 'it exports no job'],
    ['a setup that is no function', 'export const setup = 1', 'its export setup must be a function'],
    ['a mistake of its own', "\nthrow new Error('own mistake')", 'own mistake (at 2:7)'],
    ['text that is no program', 'export const', 'Unexpected end of input'],
    [
      'a job of another copy of the package',
      'class Definition { name = "x"; tasks = []; options = {} }\nexport const x = new Definition()',
      'its export x was made by another copy of punctual',
    ],
  ])('with %s is refused', async (_, content, reason) => {
    const { code, stderr } = await serve(content)
    expect(code).toBe(1)
    expect(stderr).toContain(reason)
    expect(stderr).toContain('(config.invalid)')
  })

  test('that Node.js reads as CommonJS is refused, with what to do', async () => {
    const own = mkdtempSync(join(folder, 'common-'))
    writeFileSync(join(own, 'package.json'), '{"type":"commonjs"}')
    writeFileSync(join(own, 'jobs.ts'), "import { defineJob } from 'punctual'\nexport const a = defineJob('a', () => {})")
    const { code, stderr } = await punctual(['serve', '--store', 'memory:', '--jobs', join(own, 'jobs.ts'), '--port', '0'])
    expect(code).toBe(1)
    expect(stderr).toContain('set "type": "module" in the package.json next to it, or name it .mts or .mjs (config.invalid)')
  })

  test('that is not there is refused', async () => {
    const { code, stderr } = await punctual(['serve', '--store', 'memory:', '--jobs', 'nowhere.ts'])
    expect(code).toBe(1)
    expect(stderr).toContain('Cannot use the jobs file nowhere.ts: there is no such file (config.invalid)')
  })

  const definition = new URL('../../dist/index.js', import.meta.url).href

  test('may have other exports beside its jobs', async () => {
    const file = join(folder, 'others.mjs')
    writeFileSync(
      file,
      `import { defineJob } from ${JSON.stringify(definition)}\nexport const limit = 5\nexport default { a: 1 }\nexport function helper() {}\nexport const a = defineJob('a').task('t', () => {})`,
    )
    await using server = new PunctualProcess(['serve', '--store', 'memory:', '--jobs', file, '--port', '0'])
    await started(server)
    server.signal('SIGTERM')
    expect((await server.finish()).code).toBe(0)
  })

  test('that keeps a timer does not keep the process', async () => {
    const file = join(folder, 'timer.mjs')
    writeFileSync(
      file,
      `import { defineJob } from ${JSON.stringify(definition)}\nsetInterval(() => {}, 1e6)\nexport const a = defineJob('a').task('t', () => {})`,
    )
    await using server = new PunctualProcess(['serve', '--store', 'memory:', '--jobs', file, '--port', '0'])
    await started(server)
    server.signal('SIGTERM')
    expect((await server.finish()).code).toBe(0)
  })

  test('whose setup fails ends the command', async () => {
    const { code, stderr } = await serve(
      `import { defineJob } from ${JSON.stringify(definition)}\nexport const a = defineJob('a').task('t', () => {})\nexport function setup() { throw new Error('cannot prepare') }`,
    )
    expect(code).toBe(1)
    expect(stderr).toContain('cannot prepare')
  })
})
