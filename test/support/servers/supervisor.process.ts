// Holds a temporary folder and the program that works in it, on behalf of the process that started this one. When that
// process goes, in whatever way, the program is ended and the folder removed. Only what it started itself is ever ended:
// a child's pid is not given to another process before its parent has asked for the exit code.
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { childrenOf, isAnyRunning, isStopped } from './process-tree.ts'
import type { Order, Report, TreeSignal } from './supervisor.ts'

const [name = 'server', uid = '', gid = '', endSignal = 'SIGTERM'] = process.argv.slice(2)
const user = uid === '' ? {} : { uid: Number(uid), gid: Number(gid) }
const endWithinMs = 5_000

const folder = mkdtempSync(join(tmpdir(), `punctual-${name}-`))
if (user.uid !== undefined) chownSync(folder, user.uid, user.gid)

let child: ChildProcess | null = null

process.on('message', (order: Order) => {
  obey(order).then(
    () => report({ order: order.number, pid: child?.pid ?? null }),
    (error: unknown) => report({ order: order.number, error: String(error) }),
  )
})
process.on('disconnect', () => void end())
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end())
report({ folder })

async function obey(order: Order): Promise<void> {
  if (order.verb === 'start') await start(order)
  if (order.verb === 'signal') child?.kill(order.signal)
  if (order.verb === 'signal all') await signalAll(order.signal)
}

async function start({ program, args, env }: Extract<Order, { verb: 'start' }>): Promise<void> {
  if (child !== null) throw new Error(`${name} runs already`)
  const log = openSync(join(folder, 'log'), 'a')
  const started = spawn(program, args, { cwd: folder, env, stdio: ['ignore', log, log], ...user })
  closeSync(log)
  await new Promise<void>((resolve, reject) => {
    started.once('spawn', resolve)
    started.once('error', reject)
  })
  child = started
  started.once('exit', (code, signal) => {
    child = null
    report({ ended: code ?? signal ?? 'unknown' })
  })
}

/**
 * Signals the program and what it has started. The program is stopped before the look, so meanwhile it starts nothing,
 * and none of its children's pids can go to another process.
 */
async function signalAll(signal: TreeSignal): Promise<void> {
  const pid = child?.pid
  if (!child || pid === undefined) return
  child.kill('SIGSTOP')
  while (child !== null && !isStopped(pid)) await delay(1)
  const children = childrenOf(pid)
  for (const one of children) process.kill(one, signal)
  child?.kill(signal)
  // A signal takes effect some time after it was sent.
  if (signal === 'SIGSTOP') while (children.some((one) => isAnyRunning([one]) && !isStopped(one))) await delay(1)
  if (signal === 'SIGKILL') while (child !== null || isAnyRunning(children)) await delay(1)
}

/** Asks the program to end, makes it end when it does not, and leaves nothing behind. */
async function end(): Promise<void> {
  await signalAll('SIGCONT')
  child?.kill(endSignal as NodeJS.Signals)
  const latest = performance.now() + endWithinMs
  while (child !== null && performance.now() < latest) await delay(5)
  await signalAll('SIGKILL')
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  process.exit()
}

function report(message: Report): void {
  if (process.connected) process.send?.(message, () => {})
}
