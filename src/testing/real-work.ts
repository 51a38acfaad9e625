import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { PunctualError } from '../errors.ts'
import { sleep, systemClock } from '../time/clock.ts'

/** Real time that user code may take for timers and I/O before a clock refuses to move on. */
const longestMs = 4000
/** User code that waits for nothing we can see is given this long: a query on an open connection leaves no trace here. */
const quietMs = 50
/** So long may a socket or thread that user code has opened be silent. It may be an idle one of a pool. */
const silentMs = 1000
const checkMs = 5

/** Resources that count as progress: real timers, files, sockets, processes, threads. Promises do not. */
const real =
  /^(Timeout|Immediate|FSREQ\w+|FILEHANDLECLOSEREQ|GETADDRINFOREQWRAP|QUERYWRAP|(TCP|PIPE)(CONNECT)?WRAP|PROCESSWRAP|WORKER|MESSAGEPORT)$/
/** These are over after their first callback. */
const once = /^(Immediate|FSREQ\w+|FILEHANDLECLOSEREQ|GETADDRINFOREQWRAP|QUERYWRAP|\w+CONNECTWRAP)$/

interface Pending {
  readonly type: string
  readonly resource: { hasRef?(): boolean; readonly _idleTimeout?: number }
}

interface Run {
  readonly name: string
  readonly resources: Map<number, Pending>
  /** Timers of the manual clock that it has set: while it has some, it waits for the clock. */
  clockTimers: number
  /** Since when it has waited for nothing visible, by real time. */
  quietSince: number
  busySince: number
}

/** User code under a manual clock, and which real timers and I/O each call of it waits for. */
export class RealWork {
  readonly #runs = new Set<Run>()
  readonly #storage = new AsyncLocalStorage<Run>()
  readonly #owners = new Map<number, Run>()
  readonly #hook = createHook({
    init: (id, type, _, resource) => this.#begun(id, type, resource),
    after: (id) => this.#called(id),
    destroy: (id) => this.#ended(id),
  })

  run<Value>(name: string, work: () => Value): Value {
    const now = systemClock.mono()
    const run: Run = { name, resources: new Map(), clockTimers: 0, quietSince: now, busySince: now }
    this.#runs.add(run)
    if (this.#runs.size === 1) this.#hook.enable()
    try {
      const value = this.#storage.run(run, work)
      Promise.resolve(value).then(
        () => this.#over(run),
        () => this.#over(run),
      )
      return value
    } catch (error) {
      this.#over(run)
      throw error
    }
  }

  /** User code sets a timer of the clock. Returns what to call when that timer has run or was taken back. */
  clockTimer(): () => void {
    const run = this.#storage.getStore()
    if (!run) return noRun
    run.clockTimers += 1
    return () => {
      run.clockTimers -= 1
      run.quietSince = systemClock.mono()
    }
  }

  /** Calls `work`, which waits for user code, but not for the code that has called it. */
  outside<Value>(work: (caller: unknown) => Value): Value {
    const caller = this.#storage.getStore()
    return this.#storage.exit(() => work(caller))
  }

  /** Waits for a moment if user code makes progress, or may. Returns whether it did. Throws for code that takes too long. */
  async wait(caller: unknown): Promise<boolean> {
    const now = systemClock.mono()
    const running = [...this.#runs].filter((run) => run !== caller && (isBusy(run) || now - run.quietSince < patience(run)))
    if (running.length === 0) return false
    const late = running.find((run) => isBusy(run) && now - run.busySince > longestMs)
    if (late) {
      const types = [...new Set([...late.resources.values()].map(({ type }) => type))].join(', ')
      const message = `${late.name} has waited for ${longestMs} ms of real time (${types}), and a manual clock moves only between such waits. Let it wait on the clock, or make it quicker`
      // Told once: the test may want to go on.
      for (const id of late.resources.keys()) this.#owners.delete(id)
      late.resources.clear()
      throw new PunctualError('option.invalid', message, { field: 'clock', handler: late.name })
    }
    await sleep(systemClock, checkMs)
    return true
  }

  get isBusy(): boolean {
    return [...this.#runs].some(isBusy)
  }

  #begun(id: number, type: string, resource: object): void {
    const run = real.test(type) ? this.#storage.getStore() : undefined
    if (!run || !this.#runs.has(run) || isGuard({ type, resource })) return
    if (run.resources.size === 0) run.busySince = systemClock.mono()
    run.resources.set(id, { type, resource })
    this.#owners.set(id, run)
  }

  #called(id: number): void {
    const run = this.#owners.get(id)
    const type = run?.resources.get(id)?.type
    if (!run || type === undefined) return
    run.quietSince = systemClock.mono()
    if (once.test(type)) this.#ended(id)
  }

  #ended(id: number): void {
    const run = this.#owners.get(id)
    if (!run) return
    this.#owners.delete(id)
    run.resources.delete(id)
    run.quietSince = systemClock.mono()
  }

  #over(run: Run): void {
    this.#runs.delete(run)
    for (const id of run.resources.keys()) this.#owners.delete(id)
    if (this.#runs.size === 0) this.#hook.disable()
  }
}

const noRun = () => {}

/** A timer that would not keep the process alive is no progress. */
function isBusy({ resources }: Run): boolean {
  return resources.values().some((one) => !isSocket(one) && one.resource.hasRef?.() !== false)
}

const ownCode = new URL('..', import.meta.url).pathname

/** A long timer that a library has set while it works for user code: it guards a call, and the code does not wait for it. */
function isGuard({ type, resource }: Pending): boolean {
  if (type !== 'Timeout' || (resource._idleTimeout ?? 0) <= longestMs) return false
  const lines = (new Error().stack ?? '').split('\n').slice(1)
  // First come the lines of this file, which a bundle has under another name, then those of Node.js, then the setter.
  const setter = lines.slice(lines.findIndex(isOfNode)).find((line) => /[/\\]/.test(line) && !isOfNode(line))
  return setter !== undefined && (setter.includes('node_modules') || setter.includes(ownCode))
}

function isOfNode(line: string): boolean {
  return line.includes('node:')
}

function patience({ resources, clockTimers }: Run): number {
  if (clockTimers > 0) return 0
  return resources.values().some(isSocket) ? silentMs : quietMs
}

function isSocket({ type }: Pending): boolean {
  return /^((TCP|PIPE)WRAP|WORKER|MESSAGEPORT)$/.test(type)
}
