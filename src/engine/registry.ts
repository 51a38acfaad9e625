import { PunctualError } from '../errors.ts'
import type { Handler } from '../model/context.ts'
import { type AnyDefinition, type TaskDefinition, tasksOf } from '../model/definition.ts'
import { runnableKinds, type VersionRecord } from '../model/job.ts'

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

/** What the names of built-in definitions begin with. */
export const builtInPrefix = 'punctual/'

/** Where definitions and handlers, which may come from different modules, find each other by name. */
export class Registry {
  readonly #definitions = new Map<string, AnyDefinition>()
  readonly #builtIn = new Map<string, AnyDefinition>()
  readonly #handlers = new Map<string, Map<string | null, Handler>>()
  readonly #runnables = new Map<string, Runnable>()
  /** What each definition's own job has said so far: which editions of its tasks there are. */
  readonly #versions = new Map<string, readonly VersionRecord[]>()
  #kinds: readonly string[] | null = null

  /** Adds a definition that every node has by itself; it is run, but no job of its own is declared for it. */
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

  definition(name: string): AnyDefinition | undefined {
    return this.#definitions.get(name) ?? this.#builtIn.get(name)
  }

  /** The definition with all its handlers, or undefined when one is missing. */
  runnable(name: string): Runnable | undefined {
    const known = this.#runnables.get(name)
    if (known) return known
    const definition = this.definition(name)
    const tasks = definition && this.#withHandlers(definition)
    if (!tasks) return undefined
    const runnable = { definition, tasks }
    this.#runnables.set(name, runnable)
    return runnable
  }

  /** Takes note of the versions of a definition's own job. Before this nothing of the definition is run: this code may be old. */
  learn(definition: string, versions: readonly VersionRecord[]): void {
    this.#versions.set(definition, versions)
    this.#kinds = null
  }

  /** How many versions of its job are known. */
  versionCount(definition: string): number {
    return this.#versions.get(definition)?.length ?? 0
  }

  /** Whether the editions of everything that could be run here are known. */
  get isInformed(): boolean {
    return this.definitions.every(({ name }) => this.#versions.has(name) || !this.runnable(name))
  }

  /** What this node can run: definitions, in the editions of their tasks that its code can be trusted with. */
  kinds(): readonly string[] {
    this.#kinds ??= [...this.#builtIn.keys(), ...this.#definitions.values().flatMap((definition) => this.#kindsOf(definition))]
    return this.#kinds
  }

  #kindsOf(definition: AnyDefinition): readonly string[] {
    return this.runnable(definition.name) ? runnableKinds(tasksOf(definition), this.#versions.get(definition.name) ?? []) : []
  }

  /** Definitions without a handler here, and handlers without a definition: told, never an error. */
  gaps(): { job: string; task: string | null; message: string }[] {
    const withoutHandler = [...this.#definitions.values()].flatMap((definition) =>
      tasksOf(definition)
        .filter((task) => !this.#handlerOf(definition, task))
        .map((task) => ({
          job: definition.name,
          task: task.name,
          message: `Task ${JSON.stringify(task.name)} of job ${JSON.stringify(definition.name)} has no handler here; its occurrences wait for a node that has one`,
        })),
    )
    const withoutTask = [...this.#handlers].flatMap(([job, handlers]) =>
      [...handlers.keys()]
        .filter((task) => !this.#hasTask(job, task))
        .map((task) => ({ job, task, message: unusedMessage(job, task) })),
    )
    return [...withoutHandler, ...withoutTask]
  }

  #withHandlers(definition: AnyDefinition): RunnableTask[] | undefined {
    const tasks = tasksOf(definition).map((task) => ({ ...task, handler: this.#handlerOf(definition, task) }))
    return tasks.every((task): task is RunnableTask => task.handler !== undefined) ? tasks : undefined
  }

  #handlerOf(definition: AnyDefinition, task: TaskDefinition): Handler | undefined {
    const handlers = this.#handlers.get(definition.name)
    return task.handler ?? handlers?.get(task.name) ?? (tasksOf(definition).length === 1 ? handlers?.get(null) : undefined)
  }

  #hasTask(job: string, task: string | null): boolean {
    const definition = this.#definitions.get(job)
    if (!definition) return false
    const tasks = tasksOf(definition)
    return task === null ? tasks.length === 1 : tasks.some(({ name }) => name === task)
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

function unusedMessage(job: string, task: string | null): string {
  return task === null
    ? `The handler of job ${JSON.stringify(job)} is not used here: no definition of that name with a single task is known`
    : `The handler of task ${JSON.stringify(task)} of job ${JSON.stringify(job)} is not used here: no definition with that task is known`
}
