import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { npm, pack } from '../../scripts/pack.mjs'
import { memory } from '../../src/store/memory/index.ts'
import { createJobs } from './jobs.ts'

const recipe = join(import.meta.dirname, 'next')

test('Next.js: a route handler uses the one client of the process', async () => {
  const punctual = createJobs(memory())
  Object.assign(globalThis, { punctual })
  const { POST } = await import('./next/app/orders/[id]/route.ts')
  const call = () =>
    POST(new Request('http://localhost/orders/42', { method: 'POST' }), { params: Promise.resolve({ id: '42' }) })
  expect(await (await call()).json()).toEqual({ id: expect.any(String), outcome: 'created' })
  expect(await (await call()).json()).toEqual({ id: expect.any(String), outcome: 'existing' })
  await punctual.close()
})

// Next.js is 300 MB and builds for half a minute, so this runs by choice: PUNCTUAL_TEST_NEXT=1 npm test -- test/frameworks/next.test.ts
test.runIf(process.env.PUNCTUAL_TEST_NEXT)(
  'Next.js builds the recipe with the packed package, and its server enqueues',
  { timeout: 600_000 },
  async () => {
    const project = mkdtempSync(join(tmpdir(), 'punctual-next-'))
    let server: ChildProcess | null = null
    try {
      createProject(project)
      const next = join(project, 'node_modules', 'next', 'dist', 'bin', 'next')
      const environment = { ...process.env, NODE_ENV: 'production' as const, NEXT_TELEMETRY_DISABLED: '1' }
      const built = spawnSync(process.execPath, [next, 'build'], { cwd: project, env: environment, encoding: 'utf8' })
      expect(built.status, built.stdout + built.stderr).toBe(0)
      const port = await freePort()
      const args = [next, 'start', '--port', String(port), '--hostname', '127.0.0.1']
      server = spawn(process.execPath, args, { cwd: project, env: environment, stdio: ['ignore', 'pipe', 'ignore'] })
      await isReady(server)
      const post = async () => (await fetch(`http://127.0.0.1:${port}/orders/42`, { method: 'POST' })).json()
      expect(await post()).toEqual({ id: expect.any(String), outcome: 'created' })
      expect(await post()).toEqual({ id: expect.any(String), outcome: 'existing' })
    } finally {
      if (server?.kill()) await new Promise((ended) => server?.once('exit', ended))
      rmSync(project, { recursive: true, force: true })
    }
  },
)

function createProject(project: string): void {
  cpSync(recipe, project, { recursive: true })
  cpSync(join(import.meta.dirname, 'jobs.ts'), join(project, 'app', 'jobs.ts'))
  const layout = 'export default ({ children }) => <html><body>{children}</body></html>\n'
  writeFileSync(join(project, 'app', 'layout.js'), layout)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'shop', private: true, type: 'module' }))
  const compilerOptions = {
    moduleResolution: 'bundler',
    module: 'esnext',
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...compilerOptions, skipLibCheck: true } }))
  const packed = pack(project)
  if (!packed.ok) throw new Error(packed.output)
  const wanted = ['next@16', 'react@19', 'react-dom@19', 'typescript@5', '@types/node@24', '@types/react@19', packed.file]
  const installed = npm(['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', ...wanted], {
    cwd: project,
  })
  if (installed.status !== 0) throw new Error(installed.stdout + installed.stderr)
}

/** Resolves when the server has printed that it is ready. */
function isReady(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    server.stdout?.on('data', (text) => /Ready/.test(String(text)) && resolve())
    server.once('exit', (code) => reject(new Error(`next start ended with ${code}`)))
  })
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { port: number }
  await new Promise((closed) => server.close(closed))
  return port
}
