import { type ChildProcess, fork } from 'node:child_process'
import { chownSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { serverUser } from './server-user.ts'

export type Order = { readonly number: number } & (
  | { readonly verb: 'start'; readonly program: string; readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv }
  | { readonly verb: 'signal'; readonly signal: NodeJS.Signals }
  | { readonly verb: 'signal all'; readonly signal: TreeSignal }
)

export type Report =
  | { readonly folder: string }
  | { readonly order: number; readonly pid: number | null }
  | { readonly order: number; readonly error: string }
  | { readonly ended: Ended }

/** The signals for a program and all its children. */
export type TreeSignal = 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'

/** The exit code of a program, or the signal that ended it. */
export type Ended = number | string

type Task = Order extends infer One ? (One extends Order ? Omit<One, 'number'> : never) : never

/** A temporary folder, and at most one program at a time that works in it. Neither outlives the process that asked for them. */
export class Supervisor {
  readonly folder: string
  readonly #process: ChildProcess
  readonly #answers = new Map<number, PromiseWithResolvers<void>>()
  #orders = 0
  #pid: number | null = null
  #ended: PromiseWithResolvers<Ended> = Promise.withResolvers()
  #waiting = 0

  /** `endSignal` makes the program end at once. */
  static async start(name: string, endSignal: NodeJS.Signals = 'SIGTERM'): Promise<Supervisor> {
    const user = serverUser()
    const args = [name, String(user?.uid ?? ''), String(user?.gid ?? ''), endSignal]
    // In a separate session it outlives Ctrl-C or a kill of this process group, and cleans up.
    const child = fork(fileURLToPath(new URL('./supervisor.process.ts', import.meta.url)), args, {
      detached: true,
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const folder = await new Promise<string>((resolve, reject) => {
      child.once('message', (report: { folder: string }) => resolve(report.folder))
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`The supervisor of ${name} ended with ${code}`)))
    })
    return new Supervisor(child, folder)
  }

  private constructor(child: ChildProcess, folder: string) {
    this.#process = child
    this.folder = folder
    child.on('message', (report: Report) => this.#hear(report))
    child.once('exit', () => this.#close())
    this.#rest()
  }

  /** The program that runs now. */
  get pid(): number | null {
    return this.#pid
  }

  /** When the program that was last started has ended. */
  get ended(): Promise<Ended> {
    return this.#ended.promise
  }

  /** Writes a file into the folder for the server's user, whom our umask may not concern, and gives its path. */
  write(name: string, text: string): string {
    const path = join(this.folder, name)
    const user = serverUser()
    writeFileSync(path, text, { mode: 0o600 })
    if (user !== null) chownSync(path, user.uid, user.gid)
    return path
  }

  async start(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
    this.#ended = Promise.withResolvers()
    const base = { PATH: process.env.PATH, HOME: this.folder, LC_ALL: 'C', LC_MESSAGES: 'C' }
    await this.#order({ verb: 'start', program, args, env: { ...base, ...env } })
  }

  /** Runs a program to its end, which must be a good one. */
  async run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
    await this.start(program, args, env)
    const ended = await this.#awake(this.ended)
    if (ended !== 0) throw new Error(`${program} ended with ${ended}:\n${this.log()}`)
  }

  /** Waits until the server that was started answers; fails with its log when it ends instead. */
  async ready<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask()
      } catch (error) {
        if (this.#pid === null) throw new Error(`A server does not start:\n${this.log()}`, { cause: error })
        await delay(10)
      }
    }
  }

  async signal(signal: NodeJS.Signals): Promise<void> {
    await this.#order({ verb: 'signal', signal })
  }

  /** Signals the program and those it has started. */
  async signalAll(signal: TreeSignal): Promise<void> {
    await this.#order({ verb: 'signal all', signal })
  }

  /** Signals the program, and waits for its end. */
  async end(signal: NodeJS.Signals): Promise<Ended> {
    if (this.#pid === null) return this.ended
    await this.signal(signal)
    return this.#awake(this.ended)
  }

  /** The end of the output of the programs. */
  log(): string {
    return readFileSync(join(this.folder, 'log'), 'utf8').slice(-4_000)
  }

  /** Ends the program and removes the folder. */
  async remove(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const gone = new Promise<void>((resolve) => this.#process.once('exit', () => resolve()))
    if (this.#process.connected) this.#process.disconnect()
    this.#process.ref()
    await gone
  }

  #order(task: Task): Promise<void> {
    const number = ++this.#orders
    const answer = Promise.withResolvers<void>()
    this.#answers.set(number, answer)
    this.#process.send({ ...task, number } as Order, (error) => error && answer.reject(error))
    return this.#awake(answer.promise)
  }

  #hear(report: Report): void {
    if ('ended' in report) {
      this.#pid = null
      this.#ended.resolve(report.ended)
    } else if ('order' in report) {
      const answer = this.#answers.get(report.order)
      this.#answers.delete(report.order)
      if ('error' in report) return answer?.reject(new Error(report.error))
      this.#pid = report.pid
      answer?.resolve()
    }
  }

  #close(): void {
    this.#pid = null
    this.#ended.resolve('supervisor gone')
    for (const answer of this.#answers.values()) answer.reject(new Error('The supervisor has ended'))
    this.#answers.clear()
  }

  /** Keeps our process alive as long as something is awaited; a server that is merely there lets it end. */
  async #awake<T>(promise: Promise<T>): Promise<T> {
    this.#waiting++
    this.#process.ref()
    this.#process.channel?.ref()
    try {
      return await promise
    } finally {
      if (--this.#waiting === 0) this.#rest()
    }
  }

  #rest(): void {
    this.#process.unref()
    this.#process.channel?.unref()
  }
}
