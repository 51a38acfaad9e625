/** `npm start`: the demo jobs on SQLite, with everything built that needs to be. Ctrl-C stops it cleanly. */
import { spawn } from 'node:child_process'
import process from 'node:process'
import { build } from './build.mjs'

const { ok, output } = build()
if (!ok) {
  console.error(output)
  process.exit(1)
}

const serve = ['dist/cli/main.js', 'serve', '--store', 'sqlite:./.punctual/demo.db', '--jobs', 'examples/demo/jobs.ts']

// One Ctrl-C reaches a process under npm twice or more: from the terminal, from npm, from each parent. The server
// stands in a group of its own and gets one signal for all of them; another Ctrl-C after a second gets through.
const server = spawn(process.execPath, serve, { stdio: 'inherit', detached: process.platform !== 'win32' })
let passedAt = Number.NEGATIVE_INFINITY
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (performance.now() - passedAt < 1000) return
    passedAt = performance.now()
    server.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal)
  })
}
server.on('exit', (code) => {
  process.exitCode = code ?? 1
})
