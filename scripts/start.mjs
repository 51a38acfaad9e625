/** `npm start`: the demo jobs on SQLite, with everything built that needs to be. Ctrl-C stops it cleanly. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import process from 'node:process'
import { build } from './build.mjs'

const { ok, output } = build()
if (!ok) {
  console.error(output)
  process.exit(1)
}

const file = '.punctual/demo.db'
if (!existsSync(file)) {
  console.log(`First start: three weeks of a shop's past are made in ${file}. This takes a few seconds.`)
  const { status } = spawnSync(process.execPath, ['examples/demo/seed.ts', file], { stdio: 'inherit' })
  if (status !== 0) console.error('The past could not be made: the demo starts with an empty store.')
}
const log = process.env.PUNCTUAL_LOG ?? 'quiet'
const serve = ['dist/cli/main.js', 'serve', '--store', `sqlite:./${file}`, '--jobs', 'examples/demo/jobs.ts', '--log', log]

// One Ctrl-C reaches a process under npm twice or more: from the terminal, from npm, from each parent. The server
// has its own process group and gets one signal for all of them; another Ctrl-C after a second gets through.
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
