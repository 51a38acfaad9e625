import { PunctualError } from '../../errors.ts'
import type { Handler } from '../../model/context.ts'
import { type AnyDefinition, type TaskDefinition, tasksOf } from '../../model/definition.ts'
import { definitionOf, runnableKinds, storedDefinition, type VersionRecord } from '../../model/job.ts'

/** Handlers by job, then by task; a function alone is the handler of a job's only task. */
export type HandlerMap = Readonly<Record<string, Handler<never, never> | Readonly<Record<string, Handler<never, never>>>>>

/** A task with the handler that this process has for it. */
export interface RunnableTask extends TaskDefinition {
  readonly handler: Handler
}

export interface Runnable {
  readonly definition: AnyDefinition
  readonly tasks: readonly RunnableTask[]
}

/** A task that lacks a handler here, or a handler that lacks a task. */
export interface Gap {
  readonly job: string
  readonly task: string | null
  readonly message: string
}

/** The prefix of the names of built-in definitions. */
export const builtInPrefix = 'punctual/'

/** Where definitions and handlers, which may come from different modules, find each other by name. */
export class Registry {
  readonly #definitions = new Map<string, AnyDefinition>()
  readonly #builtIn = new Map<string, AnyDefinition>()
  readonly #handlers = new Map<string, Map<string | null, Handler>>()
  readonly #runnables = new Map<string, Runnable>()
  /** The versions of each definition's own job: they count the editions of its tasks. */
  readonly #versions = new Map<string, readonly VersionRecord[]>()
  #kinds: readonly string[] | null = null
  /** Definitions of which nothing is claimed at present. */
  readonly #held = new Set<string>()

  /** Makes a handler of a module that a thread runs. */
  workerHandler: (module: string) => Handler = () => () => {
    throw new PunctualError('punctual.stopped', 'Threads run handlers only in a scheduler that is started', {})
  }

  /** Adds a definition that every node has. It runs, and no job is declared for it. */
  defineBuiltIn(definition: AnyDefinition): void {
    this.#builtIn.set(definition.name, definition)
    this.#forget()
  }

  define(definition: AnyDefinition): void {
    const { name } = definition
    if (name.startsWith(builtInPrefix))
      throw new PunctualError('name.invalid', `Names that begin with ${builtInPrefix} are taken; got ${JSON.stringify(name)}`, {
        field: 'jobs',
        job: name,
      })
    if (this.#definitions.has(name))
      throw new PunctualError(
        'definition.duplicate',
        `Two jobs are named ${JSON.stringify(name)}; a name stands for one definition`,
        { field: 'jobs', job: name },
      )
    this.#checkHandlers(definition, this.#handlers.get(name))
    this.#definitions.set(name, definition)
    this.#forget()
  }

  handle(job: string, task: string | null, handler: Handler): void {
    if (typeof handler !== 'function')
      throw new PunctualError(
        'option.invalid',
        `The handler of job ${JSON.stringify(job)} must be a function; got ${typeof handler}`,
        { field: 'handlers', job, task },
      )
    const known = this.#handlers.get(job)
    if (known?.has(task)) throw twoHandlers(job, task)
    const handlers = new Map(known).set(task, handler)
    const definition = this.#definitions.get(job)
    if (definition) this.#checkHandlers(definition, handlers)
    this.#handlers.set(job, handlers)
    this.#forget()
  }

  /** Refuses a second handler of a task: beside that of the definition, or under the job's name and the task's. */
  #checkHandlers(definition: AnyDefinition, handlers: ReadonlyMap<string | null, Handler> | undefined): void {
    const tasks = tasksOf(definition)
    for (const { name, handler } of tasks) {
      const given = [handler, handlers?.get(name), tasks.length === 1 ? handlers?.get(null) : undefined]
      if (given.filter((one) => one !== undefined).length > 1) throw twoHandlers(definition.name, name)
    }
  }

  get definitions(): IteratorObject<AnyDefinition> {
    return this.#definitions.values()
  }

  /** The definitions whose editions this process must know: its own, and those for which it has only handlers. */
  get names(): readonly string[] {
    return [...new Set([...this.#definitions.keys(), ...this.#handlers.keys()])]
  }

  definition(name: string): AnyDefinition | undefined {
    return this.#definitions.get(name) ?? this.#builtIn.get(name)
  }

  /**
   * The definition with all its handlers, or undefined when one is missing. Where only handlers are registered here, it is the newest
   * stored version of the definition that they suffice for.
   */
  runnable(name: string): Runnable | undefined {
    const known = this.#runnables.get(name)
    if (known) return known
    const own = this.definition(name)
    const runnable = own ? this.#withHandlers(own) : this.#stored(name)
    if (runnable) this.#runnables.set(name, runnable)
    return runnable
  }

  #stored(name: string): Runnable | undefined {
    for (const { spec } of this.#versions.get(name)?.toReversed() ?? []) {
      const runnable = this.#withHandlers(storedDefinition(spec))
      if (runnable) return runnable
    }
    return undefined
  }

  /** Takes note of the versions of a definition's own job. Before this nothing of the definition is run: this code may be old. */
  learn(definition: string, versions: readonly VersionRecord[]): void {
    this.#versions.set(definition, versions)
    if (!this.definition(definition)) this.#runnables.delete(definition)
    this.#kinds = null
  }

  /** How many versions of its job are known. */
  versionCount(definition: string): number {
    return this.#versions.get(definition)?.length ?? 0
  }

  /** Whether the editions of everything that could be run here are known. */
  get isInformed(): boolean {
    return this.names.every((name) => this.#versions.has(name) || (this.#definitions.has(name) && !this.runnable(name)))
  }

  /** The kinds that this node can run: definitions, in the editions of their tasks that its code covers. */
  kinds(): readonly string[] {
    this.#kinds ??= [...this.#builtIn.keys(), ...this.names.flatMap((name) => this.#kindsOf(name))]
    return this.#kinds
  }

  /** The kinds that may be claimed now: all but those of definitions that are held. */
  claimableKinds(): readonly string[] {
    const kinds = this.kinds()
    return this.#held.size === 0 ? kinds : kinds.filter((kind) => !this.#held.has(definitionOf(kind)))
  }

  /** Leaves the due work of a definition in the store, until `unhold`: what it needs is away. */
  hold(definition: string): void {
    this.#held.add(definition)
  }

  unhold(definition: string): void {
    this.#held.delete(definition)
  }

  #kindsOf(name: string): readonly string[] {
    const runnable = this.runnable(name)
    return runnable ? runnableKinds(runnable.tasks, this.#versions.get(name) ?? []) : []
  }

  /** Tasks without a handler, and handlers without a task, of the definitions here: logged, never an error. */
  gaps(): Gap[] {
    return [...this.#definitions.values()].flatMap((definition) => this.#gapsOf(definition))
  }

  /** The same for definitions that only the store knows, once they were read from it. */
  storedGaps(): Gap[] {
    return [...this.#versions].flatMap(([job, versions]) => {
      if (this.#definitions.has(job) || this.runnable(job)) return []
      const newest = versions.at(-1)
      return newest ? this.#gapsOf(storedDefinition(newest.spec)) : [{ job, task: null, message: undeclaredMessage(job) }]
    })
  }

  #gapsOf(definition: AnyDefinition): Gap[] {
    const { name: job } = definition
    const tasks = tasksOf(definition)
    const withoutHandler = tasks
      .filter((task) => !this.#handlerOf(definition, task))
      .map(({ name }) => ({ job, task: name, message: missingMessage(job, name) }))
    const withoutTask = [...(this.#handlers.get(job)?.keys() ?? [])]
      .filter((task) => (task === null ? tasks.length !== 1 : !tasks.some(({ name }) => name === task)))
      .map((task) => ({ job, task, message: unusedMessage(job, task) }))
    return [...withoutHandler, ...withoutTask]
  }

  #withHandlers(definition: AnyDefinition): Runnable | undefined {
    const tasks = tasksOf(definition).map((task) => ({ ...task, handler: this.#handlerOf(definition, task) }))
    return tasks.every((task): task is RunnableTask => task.handler !== undefined) ? { definition, tasks } : undefined
  }

  #handlerOf(definition: AnyDefinition, task: TaskDefinition): Handler | undefined {
    const handlers = this.#handlers.get(definition.name)
    if (task.module !== undefined) return this.workerHandler(task.module)
    return task.handler ?? handlers?.get(task.name) ?? (tasksOf(definition).length === 1 ? handlers?.get(null) : undefined)
  }

  #forget(): void {
    this.#runnables.clear()
    this.#kinds = null
  }
}

function twoHandlers(job: string, task: string | null): PunctualError {
  const where = task === null ? '' : ` for task ${JSON.stringify(task)}`
  return new PunctualError('handler.duplicate', `Job ${JSON.stringify(job)} has two handlers${where}; remove one`, {
    field: 'handlers',
    job,
    task,
  })
}

function missingMessage(job: string, task: string): string {
  return `Task ${JSON.stringify(task)} of job ${JSON.stringify(job)} has no handler here; its occurrences wait for a node that has one`
}

function unusedMessage(job: string, task: string | null): string {
  return task === null
    ? `The handler of job ${JSON.stringify(job)} is not used: the job has several tasks, and each needs a handler under its name`
    : `The handler of task ${JSON.stringify(task)} of job ${JSON.stringify(job)} is not used: the job has no such task`
}

function undeclaredMessage(job: string): string {
  return `The handler of job ${JSON.stringify(job)} waits for its definition: no process has declared the job yet`
}
