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
  /** The run, of another clock, whose code has begun this one. */
  readonly outer: Run | undefined
  isOver: boolean
  readonly resources: Map<number, Pending>
  /** Timers of the manual clock that it has set: while it has some, it waits for the clock. */
  clockTimers: number
  /** Since when it has waited for nothing visible, by real time. */
  quietSince: number
  busySince: number
}

// One hook for all clocks: with a hook for each clock, a handler that never ends would leave one that slows every promise of the process.
const innermost = new AsyncLocalStorage<Run>()
const owners = new Map<number, Run>()
const hook = createHook({ init: (id, type, _, resource) => begun(id, type, resource), after: called, destroy: ended })
let running = 0

/** User code under a manual clock, and which real timers and I/O each call of it waits for. */
export class RealWork {
  readonly #runs = new Set<Run>()

  run<Value>(name: string, work: () => Value): Value {
    const now = systemClock.mono()
    const outer = innermost.getStore()
    const run: Run = { name, outer, isOver: false, resources: new Map(), clockTimers: 0, quietSince: now, busySince: now }
    this.#runs.add(run)
    running += 1
    if (running === 1) hook.enable()
    try {
      const value = innermost.run(run, work)
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
    const run = chain(innermost.getStore()).find((one) => this.#runs.has(one))
    if (!run) return noRun
    run.clockTimers += 1
    return () => {
      run.clockTimers -= 1
      run.quietSince = systemClock.mono()
    }
  }

  /** Calls `work`, which waits for user code, but not for the code that has called it. */
  outside<Value>(work: (callers: ReadonlySet<unknown>) => Value): Value {
    const callers = new Set<unknown>(chain(innermost.getStore()))
    return innermost.exit(() => work(callers))
  }

  /** Waits for a moment if user code makes progress, or may. Returns whether it did. Throws for code that takes too long. */
  async wait(callers: ReadonlySet<unknown>): Promise<boolean> {
    const now = systemClock.mono()
    const running = [...this.#runs].filter((run) => !callers.has(run) && (isBusy(run) || now - run.quietSince < patience(run)))
    if (running.length === 0) return false
    const late = running.find((run) => isBusy(run) && now - run.busySince > longestMs)
    if (late) {
      const types = [...new Set([...late.resources.values()].map(({ type }) => type))].join(', ')
      const message = `${late.name} has waited for ${longestMs} ms of real time (${types}), and a manual clock moves only between such waits. Let it wait on the clock, or make it quicker`
      // Told once: the test may want to go on.
      late.resources.clear()
      throw new PunctualError('option.invalid', message, { field: 'clock', handler: late.name })
    }
    await sleep(systemClock, checkMs)
    return true
  }

  get isBusy(): boolean {
    return [...this.#runs].some(isBusy)
  }

  #over(run: Run): void {
    if (!this.#runs.delete(run)) return
    run.isOver = true
    run.resources.clear()
    running -= 1
    if (running > 0) return
    hook.disable()
    owners.clear()
  }
}

function begun(id: number, type: string, resource: object): void {
  const run = real.test(type) ? innermost.getStore() : undefined
  const runs = chain(run)
  if (!run || runs.length === 0 || isGuard({ type, resource })) return
  for (const one of runs) {
    if (one.resources.size === 0) one.busySince = systemClock.mono()
    one.resources.set(id, { type, resource })
  }
  owners.set(id, run)
}

function called(id: number): void {
  const runs = chain(owners.get(id))
  const type = runs.find(({ resources }) => resources.has(id))?.resources.get(id)?.type
  if (type === undefined) return
  for (const one of runs) one.quietSince = systemClock.mono()
  if (once.test(type)) ended(id)
}

function ended(id: number): void {
  const run = owners.get(id)
  owners.delete(id)
  for (const one of chain(run)) {
    one.resources.delete(id)
    one.quietSince = systemClock.mono()
  }
}

/** The run and those around it that are not over, from the inside out. */
function chain(run: Run | undefined): Run[] {
  const runs: Run[] = []
  for (let one = run; one; one = one.outer) if (!one.isOver) runs.push(one)
  return runs
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
