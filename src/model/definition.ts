import { PunctualError } from '../errors.ts'
import type { Schedule } from '../schedule/schedule.ts'
import { neverFires } from '../schedule/schedule.ts'
import { zoneNamed } from '../time/zone.ts'
import type { Handler } from './context.ts'
import type { DefinitionOptions, TaskOptions } from './definition-options.ts'
import type { PlainJson } from './json.ts'
import { limitsOf } from './limit-keys.ts'
import { checkName, checkOptions } from './limits.ts'
import { checkedPayload, type PayloadSchema } from './payload.ts'
import { outletText } from './publish.ts'
import { checkRedact } from './redaction.ts'
import type { RetryFunction } from './retry.ts'
import {
  type FailureStrategy,
  parseSettings,
  retryFunction,
  type SettingsDiff,
  type SettingsOptions,
  settingNames,
  type TaskMode,
  taskModes,
  taskSettingNames,
} from './settings.ts'
import { checkNextTask } from './task-graph.ts'
import type { EndsWith, Kept, NewName, Outcome, Results, Seen, With } from './task-results.ts'

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
  /** Where its events are published, as text. */
  readonly outlet: string | undefined

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
    this.outlet = options.publish === undefined ? undefined : outletText(options.publish)
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
    if (handler !== third && third !== undefined) throw handlerNotLast('task')
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

const optionNames = [...settingNames, 'payload', 'upcast', 'redact', 'schedule', 'timezone', 'onStart', 'onComplete', 'publish']

/**
 * Declares a job: its name, the schema of its payload, its settings and its work. A job of one step has a handler right here, one of
 * several steps has tasks. Without a schema, write the type of the payload in the handler's argument, and the result is typed too. As a
 * type argument it leaves the result of a one-step job `unknown`; the mode, if it is not `sequential`, is then the second argument.
 * @example defineJob('report', { schedule: cron('0 6 * * *') }, ({ signal }) => build(signal))
 * @example defineJob('remind', ({ payload }: Context<{ order: number }>) => send(payload.order))
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
  if (handler !== third && third !== undefined) throw handlerNotLast('defineJob')
  const definition = definitionOf(name, options)
  return handler === undefined ? definition : definition.task(soleTask, {}, handler)
}

function definitionOf(name: string, options: DefinitionOptions): Definition<unknown, unknown, {}> {
  checkName(name, 'name of a job')
  const where = `job ${JSON.stringify(name)}`
  checkOptions(options, optionNames, where)
  const { payload, upcast, redact, schedule, timezone, onStart, onComplete, publish: _, ...settings } = options
  if (timezone !== undefined) zoneNamed(timezone)
  if (payload !== undefined && typeof payload?.['~standard']?.validate !== 'function') {
    throw new PunctualError('option.invalid', `payload of ${where} must be a Standard Schema (zod, valibot, arktype …)`, {
      field: 'payload',
      job: name,
    })
  }
  if (upcast !== undefined && (!payload || !Array.isArray(upcast) || upcast.some((one) => typeof one !== 'function')))
    throw new PunctualError('option.invalid', `upcast of ${where} must be a list of functions, beside a schema as payload`, {
      field: 'upcast',
      job: name,
    })
  checkHook(onStart, 'onStart', name)
  checkHook(onComplete, 'onComplete', name)
  if (schedule !== undefined) {
    checkSchedule(schedule, where)
    if (payload) checkOptional(payload, name)
  }
  const parsed = {
    ...parseSettings(settings as SettingsOptions, where, { modes: taskModes }),
    ...(redact !== undefined && { redact: checkRedact(redact, where) }),
  }
  const definition = new Definition(name, options, parsed, [])
  // A key that cannot be made of no payload is refused here rather than when the job is declared.
  if (schedule !== undefined) limitsOf(definition, undefined)
  return definition
}

/** Refuses a schema that needs a payload: a schedule that stands in the definition brings none. Asynchronous schemas are not tried. */
function checkOptional(schema: PayloadSchema, job: string): void {
  try {
    const checked = checkedPayload(schema, undefined, job)
    if (checked instanceof Promise) checked.catch(() => {})
  } catch (cause) {
    throw new PunctualError(
      'payload.rejected',
      `Job ${JSON.stringify(job)} has a schedule and needs a payload, which a schedule in the definition cannot bring. Give both to schedule(definition, schedule, { payload })`,
      { ...(cause as PunctualError).details, field: 'schedule' },
      { cause },
    )
  }
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

function handlerNotLast(call: string): PunctualError {
  return new PunctualError('option.invalid', `${call} takes its handler last: ${call}(name, options, handler)`, {
    field: 'handler',
  })
}

function checkHook(hook: unknown, field: string, job: string): void {
  if (hook === undefined || typeof hook === 'function') return
  throw new PunctualError('option.invalid', `${field} of job ${JSON.stringify(job)} must be a function; got ${typeof hook}`, {
    field,
    job,
  })
}
