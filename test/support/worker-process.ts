import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** A line of a worker: one JSON object. */
export interface Said {
  readonly what: string
  readonly [field: string]: unknown
}

/** A process that a test starts. Its lines can be awaited. */
export interface WorkerProcess {
  readonly child: ChildProcess
  /** All that was said so far. */
  readonly said: readonly Said[]
  /** The next thing said, or said before, that fits; rejects when the process ends without it. */
  until(where: (said: Said) => boolean): Promise<Said>
  /** Resolves with the exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
}

/** One that never outlives its test. */
export function startWorker(file: URL, ...args: string[]): WorkerProcess {
  const worker = spawnWorker(file, ...args)
  onTestFinished(() => void worker.child.kill('SIGKILL'))
  return worker
}

/** One that several tests share, and that whoever starts it has to end. */
export function spawnWorker(file: URL, ...args: string[]): WorkerProcess {
  const child = spawn(process.execPath, [fileURLToPath(file), ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const said: Said[] = []
  const waiting = new Set<() => void>()
  let errors = ''
  let end: number | string | null = null
  const notify = () => {
    for (const look of waiting) look()
  }
  child.stderr.on('data', (text) => {
    errors += text
  })
  createInterface({ input: child.stdout }).on('line', (line) => {
    said.push(JSON.parse(line) as Said)
    notify()
  })
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => {
      end = code ?? signal ?? 'unknown'
      resolve(end)
      notify()
    })
  })
  const until = (where: (one: Said) => boolean) =>
    new Promise<Said>((resolve, reject) => {
      const look = () => {
        const found = said.find(where)
        if (!found && end === null) return
        waiting.delete(look)
        if (found) resolve(found)
        else reject(new Error(`The worker ended (${end}) without saying it. Said: ${JSON.stringify(said)}. ${errors}`))
      }
      waiting.add(look)
      look()
    })
  return { child, said, until, ended }
}
