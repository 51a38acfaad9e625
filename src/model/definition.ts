import { PunctualError } from '../errors.ts'
import type { Schedule } from '../schedule/schedule.ts'
import { neverFires } from '../schedule/schedule.ts'
import { zoneNamed } from '../time/zone.ts'
import type { Context, Handler } from './context.ts'
import type { Jsonified, PlainJson } from './json.ts'
import { limitsOf } from './limit-keys.ts'
import { checkName, checkOptions } from './limits.ts'
import type { ConcurrencyOptions, LimitKey, RateOptions } from './overlap.ts'
import type { PayloadSchema } from './payload.ts'
import type { ExecutionReport } from './report.ts'
import type { RetryFunction } from './retry.ts'
import {
  type FailureStrategy,
  parseSettings,
  retryFunction,
  type SettingsDiff,
  type SettingsOptions,
  settingNames,
  type TaskMode,
  type TaskSettingsOptions,
  taskModes,
  taskSettingNames,
} from './settings.ts'
import { checkNextTask } from './task-graph.ts'

/** The options of `defineJob`. */
export interface DefinitionOptions<
  Input = unknown,
  Payload = Input,
  Mode extends TaskMode = TaskMode,
  OnFailure extends FailureStrategy = FailureStrategy,
> extends Omit<SettingsOptions, 'mode' | 'onFailure' | 'concurrency' | 'rate'> {
  /** A Standard Schema (zod, valibot, arktype …) that every payload must pass. */
  payload?: PayloadSchema<Input, Payload>
  /** When the job runs by itself, under the definition's name. */
  schedule?: Schedule
  /** The zone of schedules of this job that name none. Default: as the scheduler says, UTC. */
  timezone?: string
  /**
   * `sequential` (default): each task sees the results of all earlier ones. `parallel`: all tasks at once. `graph`: as their `after` says.
   */
  mode?: Mode
  /** The effect of a task's final failure on the other tasks. Default `fail-fast`. */
  onFailure?: OnFailure
  /** At most so many occurrences with this key run at once, in the whole cluster. A number alone limits the job itself. */
  concurrency?: number | ConcurrencyOptions<LimitKey<Input>>
  /** At most so many occurrences with this key start within a time, in the whole cluster. */
  rate?: RateOptions<LimitKey<Input>>
  /** Runs before the first attempt of an occurrence; at least once, and a throw changes nothing. */
  onStart?: (ctx: HookContext<Payload>) => unknown
  /**
   * Runs when the end of an occurrence is written; at least once, and a throw changes nothing. Where no node runs the work at its end,
   * or that node goes down before the hook is through, a node that has the definition runs it.
   */
  onComplete?: (report: ExecutionReport) => unknown
}

/** The context of `onStart`: the occurrence, before any of its tasks. */
export type HookContext<Payload = unknown> = Pick<
  Context<Payload>,
  'payload' | 'tenant' | 'job' | 'key' | 'entity' | 'refs' | 'source' | 'occurrenceId' | 'scheduledAt' | 'lastRunAt' | 'log'
>

/** The options of a task. */
export interface TaskOptions<
  After extends string = string,
  Mode extends TaskMode = TaskMode,
  OnFailure extends FailureStrategy = FailureStrategy,
> extends Omit<TaskSettingsOptions, 'onFailure'> {
  /** In `mode: 'graph'`: the tasks that must be finished first; their results are in `ctx.results`. */
  after?: Mode extends 'graph' ? readonly After[] : AfterNeedsModeGraph
  /** The effect of this task's final failure on the other tasks. Default: the job's setting. */
  onFailure?: OnFailure
  /** Runs the handler in a thread, for work that computes for long. Needs `module`, and the package `piscina`. */
  runIn?: 'worker'
  /** The module that exports the handler under the name `handler`: a URL such as `new URL('./render.js', import.meta.url)`. */
  module?: URL | string
}

/** The compiler shows this type for an `after` in a job that is no graph. */
export interface AfterNeedsModeGraph {
  readonly error: "after needs mode: 'graph' in the options of defineJob; without it tasks run one after the other"
}

/** A task as the engine sees it. */
export interface TaskDefinition {
  readonly name: string
  readonly after: readonly string[] | undefined
  readonly settings: SettingsDiff
  readonly retryFunction: RetryFunction | undefined
  readonly handler: Handler | undefined
  /** The URL of the module whose export `handler` a thread runs. */
  readonly module?: string
}

type Results = Record<string, unknown>
type NewName<Name extends string, Known> = Name extends keyof Known ? never : Name
/** The results that a task sees. */
type Seen<Known, Mode, After extends keyof Known> = Readonly<
  Mode extends 'graph' ? Flat<Pick<Known, After>> : Mode extends 'parallel' ? {} : Known
>
/** A result as others see it: read from JSON, and missing where the job goes on without it. */
type Kept<Result, OnFailure> = [OnFailure] extends ['continue']
  ? Jsonified<Awaited<Result>> | undefined
  : Jsonified<Awaited<Result>>
type With<Known, Name extends string, Result, OnFailure> = Flat<Known & Record<Name, Kept<Result, OnFailure>>>
/** The tasks that no other follows, with a task added: in a sequence the newest, side by side all, in a graph those not in `after`. */
type EndsWith<Ends extends string, Mode, Name extends string, After> = Mode extends 'graph'
  ? Exclude<Ends, After> | Name
  : Mode extends 'parallel'
    ? Ends | Name
    : Name
/** The value of the last task, or of all tasks where several are last. Nothing is known of a job without tasks. */
type Outcome<Known, Ends extends string> = string extends Ends
  ? unknown
  : [Ends] extends [never]
    ? unknown
    : IsUnion<Ends> extends true
      ? Readonly<Known>
      : Known[Ends & keyof Known]
type IsUnion<Type, All = Type> = Type extends unknown ? ([All] extends [Type] ? false : true) : never
/** Written out: the compiler then shows names and types instead of this alias. */
type Flat<Type> = Type extends infer Own ? { [Key in keyof Own]: Own[Key] } : never

/** An immutable description of a job: `task` returns a new one. Made by `defineJob`. */
export class Definition<
  Input = unknown,
  Payload = Input,
  Known extends Results = Results,
  Mode extends TaskMode = TaskMode,
  OnFailure extends FailureStrategy = FailureStrategy,
  Ends extends string = string,
> {
  /** Only for the compiler: there is no such field. */
  declare readonly '~types'?: {
    readonly input: Input
    readonly payload: Payload
    readonly results: Known
    readonly result: Outcome<Known, Ends>
  }
  readonly name: string
  readonly options: DefinitionOptions<Input, Payload>
  readonly settings: SettingsDiff
  readonly retryFunction: RetryFunction | undefined
  readonly tasks: readonly TaskDefinition[]

  constructor(
    name: string,
    options: DefinitionOptions<Input, Payload>,
    settings: SettingsDiff,
    tasks: readonly TaskDefinition[],
  ) {
    this.name = name
    this.options = options
    this.settings = settings
    this.retryFunction = retryFunction(options)
    this.tasks = tasks
  }

  /** Adds a task. Without a handler, one must be registered under the names of the job and the task. */
  task<const Name extends string, Own = unknown>(
    name: NewName<Name, Known>,
    handler?: Handler<Payload, Seen<Known, Mode, never>, Own>,
  ): Definition<Input, Payload, With<Known, Name, Own, OnFailure>, Mode, OnFailure, EndsWith<Ends, Mode, Name, never>>
  task<
    const Name extends string,
    const After extends keyof Known & string = never,
    const Failing extends FailureStrategy = OnFailure,
    Own = unknown,
  >(
    name: NewName<Name, Known>,
    options: TaskOptions<After, Mode, Failing>,
    handler?: Handler<Payload, Seen<Known, Mode, After>, Own>,
  ): Definition<Input, Payload, With<Known, Name, Own, Failing>, Mode, OnFailure, EndsWith<Ends, Mode, Name, After>>
  task(name: string, second?: TaskOptions | Handler<Payload, never>, third?: Handler<Payload, never>): AnyDefinition {
    const options = typeof second === 'function' ? {} : (second ?? {})
    const handler = typeof second === 'function' ? second : third
    checkName(name, `name of a task of job ${JSON.stringify(this.name)}`)
    const where = `task ${JSON.stringify(name)} of job ${JSON.stringify(this.name)}`
    checkOptions(options, [...taskSettingNames, 'after', 'runIn', 'module'], where)
    const after = options.after as readonly string[] | undefined
    checkNextTask(this.tasks, { name, after }, this.name)
    if (after !== undefined && this.settings.mode !== 'graph')
      throw new PunctualError(
        'option.invalid',
        `after of ${where} needs mode: 'graph' in the options of defineJob; without it tasks run one after the other and see all earlier results`,
        { field: 'after', job: this.name, task: name },
      )
    if (handler !== undefined && typeof handler !== 'function')
      throw new PunctualError('option.invalid', `The handler of ${where} must be a function; got ${typeof handler}`, {
        field: 'handler',
      })
    const { after: _, runIn, module, ...settings } = options
    const task: TaskDefinition = {
      name,
      after,
      settings: parseSettings(settings, where, { allowed: taskSettingNames }),
      retryFunction: retryFunction(options),
      handler: handler as Handler | undefined,
      ...workerModule(runIn, module, handler !== undefined, where),
    }
    return new Definition<Input, Payload>(this.name, this.options, this.settings, [...this.tasks, task])
  }
}

/** A definition of any job. */
// biome-ignore lint/suspicious/noExplicitAny: a list of definitions holds any payload and any results
export type AnyDefinition = Definition<any, any, any, any, any, any>

type TypesOf<Job extends AnyDefinition> = NonNullable<Job['~types']>
/** The payload that `enqueue` takes for a job. Parts that JSON would change do not compile. */
export type InputOf<Job extends AnyDefinition | string> = Job extends AnyDefinition ? PlainJson<TypesOf<Job>['input']> : unknown
/** The payload that the handlers of a job get. */
export type PayloadOf<Job extends AnyDefinition | string> = Job extends AnyDefinition ? TypesOf<Job>['payload'] : unknown
/** The results of a job's tasks, by name. */
export type ResultsOf<Job extends AnyDefinition | string> = Job extends AnyDefinition ? TypesOf<Job>['results'] : Results
/** The result of a job: that of its last task, or those of all tasks by name where several are last. */
export type ResultOf<Job extends AnyDefinition | string> = Job extends AnyDefinition ? TypesOf<Job>['result'] : unknown

const optionNames = [...settingNames, 'payload', 'schedule', 'timezone', 'onStart', 'onComplete']

/**
 * Declares a job: its name, the schema of its payload, its settings and its work. A job of one step has a handler right here, one of
 * several steps has tasks. Without a schema, say the type of the payload (and the mode, if it is not `sequential`) as a type argument.
 * @example defineJob('report', { schedule: cron('0 6 * * *') }, ({ signal }) => build(signal))
 * @example defineJob<{ order: number }>('invoice').task('read', ({ payload }) => read(payload.order)).task('send', ({ results }) => send(results.read))
 */
export function defineJob<Payload = unknown, Own = unknown>(
  name: string,
  handler: Handler<Payload, {}, Own>,
): Definition<Payload, Payload, { run: Kept<Own, 'fail-fast'> }, 'sequential', FailureStrategy, 'run'>
export function defineJob<
  Payload = unknown,
  const Mode extends TaskMode = 'sequential',
  const OnFailure extends FailureStrategy = FailureStrategy,
  Input = Payload,
  Own = unknown,
>(
  name: string,
  options: DefinitionOptions<Input, Payload, Mode, OnFailure>,
  handler: Handler<Payload, {}, Own>,
): Definition<Input, Payload, With<{}, 'run', Own, OnFailure>, Mode, OnFailure, 'run'>
export function defineJob<
  Payload = unknown,
  const Mode extends TaskMode = 'sequential',
  const OnFailure extends FailureStrategy = FailureStrategy,
  Input = Payload,
>(
  name: string,
  options?: DefinitionOptions<Input, Payload, Mode, OnFailure>,
): Definition<Input, Payload, {}, Mode, OnFailure, never>
export function defineJob(
  name: string,
  // biome-ignore lint/suspicious/noExplicitAny: the overloads above say what goes together
  second: DefinitionOptions<any, any, any, any> | Handler<any, any, any> = {},
  // biome-ignore lint/suspicious/noExplicitAny: as above
  third?: Handler<any, any, any>,
): AnyDefinition {
  const [options, handler] = typeof second === 'function' ? [{}, second] : [second, third]
  const definition = definitionOf(name, options)
  return handler === undefined ? definition : definition.task(soleTask, {}, handler)
}

function definitionOf(name: string, options: DefinitionOptions): Definition<unknown, unknown, {}> {
  checkName(name, 'name of a job')
  const where = `job ${JSON.stringify(name)}`
  checkOptions(options, optionNames, where)
  const { payload, schedule, timezone, onStart, onComplete, ...settings } = options
  if (timezone !== undefined) zoneNamed(timezone)
  if (payload !== undefined && typeof payload?.['~standard']?.validate !== 'function') {
    throw new PunctualError('option.invalid', `payload of ${where} must be a Standard Schema (zod, valibot, arktype …)`, {
      field: 'payload',
      job: name,
    })
  }
  checkHook(onStart, 'onStart', name)
  checkHook(onComplete, 'onComplete', name)
  if (schedule !== undefined) {
    checkSchedule(schedule, where)
    if (payload) checkOptional(payload, name)
  }
  const definition = new Definition(name, options, parseSettings(settings as SettingsOptions, where, { modes: taskModes }), [])
  // A key that cannot be made of no payload is refused here rather than when the job is declared.
  if (schedule !== undefined) limitsOf(definition, undefined)
  return definition
}

/** Refuses a schema that needs a payload: a schedule that stands in the definition brings none. Asynchronous schemas are not tried. */
function checkOptional(schema: PayloadSchema, job: string): void {
  const answer = schema['~standard'].validate(undefined)
  if (answer instanceof Promise) answer.catch(() => {})
  else if (answer.issues)
    throw new PunctualError(
      'payload.rejected',
      `Job ${JSON.stringify(job)} has a schedule and needs a payload, which a schedule in the definition cannot bring. Give both to schedule(definition, schedule, { payload })`,
      { field: 'schedule', job, issues: answer.issues.map(({ message }) => ({ message, path: [] })) },
    )
}

/** The tasks to run: a definition without any has the one task `run`, whose handler is registered under the definition's name. */
export function tasksOf(definition: AnyDefinition): readonly TaskDefinition[] {
  return definition.tasks.length > 0 ? definition.tasks : bareTask
}

/** The name of the task of a job of one step. */
const soleTask = 'run'
const bareTask: readonly TaskDefinition[] = [
  { name: soleTask, after: undefined, settings: {}, retryFunction: undefined, handler: undefined },
]

/** Refuses what is not a schedule, and a schedule that never fires. */
export function checkSchedule(schedule: Schedule, where: string): void {
  if (typeof schedule?.next !== 'function' || typeof schedule.toJSON !== 'function') {
    throw new PunctualError(
      'schedule.invalid',
      `schedule of ${where} must be made by cron, interval, rrule or once; got ${typeof schedule}`,
      { field: 'schedule' },
    )
  }
  if (neverFires(schedule))
    throw new PunctualError('schedule.never', `The schedule of ${where} (${schedule.describe()}) never fires`, {
      field: 'schedule',
      schedule: schedule.toJSON(),
    })
}

/** Where a thread finds the handler: named by a module, since functions cannot be sent to it. */
function workerModule(runIn: unknown, module: unknown, hasHandler: boolean, where: string): { readonly module?: string } {
  if (runIn === undefined && module === undefined) return {}
  const url = module instanceof URL ? module.href : module
  const isUrl = typeof url === 'string' && URL.canParse(url)
  if (runIn === 'worker' && isUrl && !hasHandler) return { module: url }
  const message = hasHandler
    ? 'takes its handler from the module; leave the function out'
    : isUrl
      ? "has a module; set runIn: 'worker' with it"
      : "with runIn: 'worker' needs module, a URL such as new URL('./render.js', import.meta.url)"
  throw new PunctualError('option.invalid', `${where[0]?.toUpperCase()}${where.slice(1)} ${message}`, { field: 'module' })
}

function checkHook(hook: unknown, field: string, job: string): void {
  if (hook === undefined || typeof hook === 'function') return
  throw new PunctualError('option.invalid', `${field} of job ${JSON.stringify(job)} must be a function; got ${typeof hook}`, {
    field,
    job,
  })
}
