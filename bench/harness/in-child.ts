import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface Command {
  readonly module: string
  readonly name: string
  readonly args: readonly unknown[]
}

export type Reply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: string }

/** The last argument of every function that runs in a child: resolves when all that run together are ready. */
export type Gate = () => Promise<void>

/** One call in a separate process. */
export interface ChildCall {
  /** The address of the module: `import.meta.url` of its folder and the file's name. */
  readonly module: URL
  readonly name: string
  readonly args: readonly unknown[]
}

/** Longer than any measure takes: a job that never runs must not hold up all the others. */
const withinMs = 15 * 60_000

/** Makes each call in a separate process; they pass their gates together. */
export async function inChildren(calls: readonly ChildCall[]): Promise<unknown[]> {
  const children = calls.map((call) => new Child(call))
  const limit = setTimeout(() => children.forEach((child) => void child.end()), withinMs)
  try {
    await Promise.all(children.map((child) => child.ready))
    for (const child of children) child.go()
    return await Promise.all(children.map((child) => child.value))
  } finally {
    clearTimeout(limit)
    for (const child of children) child.end()
  }
}

class Child {
  readonly #process: ChildProcess
  readonly ready: Promise<void>
  readonly value: Promise<unknown>

  constructor({ module, name, args }: ChildCall) {
    const { BENCH_PROFILES: profiles } = process.env
    const execArgv = profiles ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`] : []
    this.#process = fork(fileURLToPath(new URL('child.ts', import.meta.url)), { serialization: 'advanced', execArgv })
    const ready = Promise.withResolvers<void>()
    const value = Promise.withResolvers<unknown>()
    this.ready = ready.promise
    this.value = value.promise
    // The first failure is reported; those that follow from it are not.
    this.value.catch(() => {})
    const fail = (error: Error) => {
      ready.reject(error)
      value.reject(error)
    }
    let returned: { readonly value: unknown } | null = null
    this.#process.on('message', (reply: Reply) => {
      if (reply.kind === 'threw') return fail(new Error(`${name} failed in its process: ${reply.error}`))
      ready.resolve()
      if (reply.kind === 'returned') returned = reply
    })
    this.#process.on('error', fail)
    this.#process.on('exit', (code, signal) => {
      if (returned) value.resolve(returned.value)
      else fail(new Error(`The process of ${name} ended early (${signal ?? code})`))
    })
    this.#process.send({ module: module.href, name, args } satisfies Command)
  }

  go(): void {
    if (this.#process.connected) this.#process.send('go', () => {})
  }

  end(): void {
    if (this.#process.exitCode === null) this.#process.kill()
  }
}
