import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The built command as a separate process. Its lines can be awaited; nothing here waits for a while. */
export class PunctualProcess {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  readonly #output = { stdout: '', stderr: '' }
  readonly #watchers = new Set<() => void>()

  constructor(args: readonly string[], { env = {}, cwd }: { env?: Record<string, string>; cwd?: string } = {}) {
    const inherited = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => name !== 'PORT' && !name.startsWith('PUNCTUAL_')),
    )
    this.#child = spawn(process.execPath, [`${import.meta.dirname}/../../dist/cli/main.js`, ...args], {
      env: { ...inherited, NO_COLOR: '1', ...env },
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#closed = once(this.#child, 'close').then(() => this.#watchers.forEach((watcher) => void watcher()))
    for (const name of ['stdout', 'stderr'] as const) {
      this.#child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this.#output[name] += text
        for (const watcher of this.#watchers) watcher()
      })
    }
  }

  /** Resolves with the first match in what the process has written, or will write. Fails when it ends without it. */
  async see(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(this.#output.stdout) ?? pattern.exec(this.#output.stderr)
        if (!found && this.#child.exitCode === null && this.#child.signalCode === null) return
        this.#watchers.delete(look)
        if (found) resolve(found)
        else
          reject(
            new Error(
              `The process ended with ${this.#child.exitCode} and did not write ${pattern}:\n${this.#output.stdout}${this.#output.stderr}`,
            ),
          )
      }
      this.#watchers.add(look)
      look()
    })
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  async finish(): Promise<Finished> {
    await this.#closed
    return { code: this.#child.exitCode, ...this.#output }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#closed
  }
}

/** Runs the command to its end. */
export function punctual(
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<Finished> {
  return new PunctualProcess(args, options).finish()
}
