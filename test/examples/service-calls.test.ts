import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { databasePath } from '../support/database-path.ts'
import { startNats } from '../support/servers/nats.ts'
import { isLeftOut, nats } from '../support/servers/needed.ts'

it.skipIf(isLeftOut(nats))(
  'TS-1 the example of service calls runs each call once, although its event arrives twice',
  async () => {
    const server = await startNats()
    onTestFinished(() => server.stop())
    const args = ['dist/cli/main.js', 'timers', '--store', `sqlite:${databasePath()}`, '--broker', server.url]
    const service = spawn(process.execPath, args, { stdio: 'ignore' })
    onTestFinished(() => void service.kill('SIGKILL'))
    const env = { ...process.env, NATS_URL: server.url }
    const { stdout } = await promisify(execFile)(process.execPath, ['examples/service-calls/service-calls.ts'], {
      env,
      timeout: 60_000,
    })
    expect(stdout.trim().split('\n').sort()).toEqual([
      'call-1: due, running',
      'call-1: duplicate, ignored',
      'call-2: due, running',
      'call-2: duplicate, ignored',
    ])
  },
)
