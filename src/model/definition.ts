import { PunctualError } from '../errors.ts'
import type { Schedule } from '../schedule/schedule.ts'
import { neverFires } from '../schedule/schedule.ts'
import type { Context, Handler } from './context.ts'
import { checkName, checkOptions } from './limits.ts'
import type { PayloadSchema } from './payload.ts'
import type { ExecutionReport } from './report.ts'
import type { RetryFunction } from './retry.ts'
import {
  parseSettings,
  retryFunction,
  type SettingsDiff,
  type SettingsOptions,
  settingNames,
  type TaskSettingsOptions,
  taskSettingNames,
} from './settings.ts'
import { checkNextTask } from './task-graph.ts'

/** What code declares of a job, besides its tasks. */
export interface DefinitionOptions<Input = unknown, Payload = Input> extends SettingsOptions {
  /** A Standard Schema (zod, valibot, arktype …) that every payload must pass. */
  payload?: PayloadSchema<Input, Payload>
  /** When the job runs by itself, under the definition's name. */
  schedule?: Schedule
  /** Runs before the first attempt of an occurrence; at least once, and a throw changes nothing. */
  onStart?: (ctx: HookContext<Payload>) => unknown
  /**
   * Runs around the end of an occurrence; at least once, and a throw changes nothing. When work is canceled or discarded that no
   * node runs, or is given up after its nodes were lost, it runs in the process that does so, if that knows the definition.
   */
  onComplete?: (report: ExecutionReport) => unknown
}

/** What `onStart` is given: the occurrence, before any of its tasks. */
export type HookContext<Payload = unknown> = Pick<
  Context<Payload>,
  'payload' | 'tenant' | 'job' | 'key' | 'entity' | 'refs' | 'source' | 'occurrenceId' | 'scheduledAt' | 'lastRunAt' | 'log'
>

export interface TaskOptions<After extends string = string> extends TaskSettingsOptions {
  /** The tasks that must be finished first; their results are in `ctx.results`. */
  after?: readonly After[]
}

/** A task as the engine sees it. */
export interface TaskDefinition {
  readonly name: string
  readonly after: readonly string[] | undefined
  readonly settings: SettingsDiff
  readonly retryFunction: RetryFunction | undefined
  readonly handler: Handler | undefined
}

type Results = Record<string, unknown>
type NewName<Name extends string, Known> = Name extends keyof Known ? never : Name
type TaskHandler<Payload, Known, After extends keyof Known, Result> = Handler<Payload, Readonly<Pick<Known, After>>, Result>

/** An immutable description of a job: `task` returns a new one. Made by `defineJob`. */
export class Definition<Input = unknown, Payload = Input, Known extends Results = Results> {
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
  task<const Name extends string, Result = unknown>(
    name: NewName<Name, Known>,
    handler?: TaskHandler<Payload, Known, never, Result>,
  ): Definition<Input, Payload, Known & Record<Name, Awaited<Result>>>
  task<const Name extends string, const After extends keyof Known & string = never, Result = unknown>(
    name: NewName<Name, Known>,
    options: TaskOptions<After>,
    handler?: TaskHandler<Payload, Known, After, Result>,
  ): Definition<Input, Payload, Known & Record<Name, Awaited<Result>>>
  task(
    name: string,
    second?: TaskOptions | Handler<Payload, never>,
    third?: Handler<Payload, never>,
  ): Definition<Input, Payload, Known> {
    const options = typeof second === 'function' ? {} : (second ?? {})
    const handler = typeof second === 'function' ? second : third
    checkName(name, `name of a task of job ${JSON.stringify(this.name)}`)
    const where = `task ${JSON.stringify(name)} of job ${JSON.stringify(this.name)}`
    checkOptions(options, [...taskSettingNames, 'after'], where)
    checkNextTask(this.tasks, { name, after: options.after }, this.name)
    if (handler !== undefined && typeof handler !== 'function')
      throw new PunctualError('option.invalid', `The handler of ${where} must be a function; got ${typeof handler}`, {
        field: 'handler',
      })
    const { after, ...settings } = options
    const task: TaskDefinition = {
      name,
      after,
      settings: parseSettings(settings, where, taskSettingNames),
      retryFunction: retryFunction(options),
      handler: handler as Handler | undefined,
    }
    return new Definition<Input, Payload, Known>(this.name, this.options, this.settings, [...this.tasks, task])
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a list of definitions holds any payload and any results
export type AnyDefinition = Definition<any, any, any>
// biome-ignore lint/suspicious/noExplicitAny: what a handler gets and returns does not matter to who enqueues
export type DefinitionTaking<Input> = Definition<Input, any, any>

const optionNames = [...settingNames, 'payload', 'schedule', 'onStart', 'onComplete']

/**
 * Declares a job: its name, the schema of its payload, its settings and, by `.task`, its work.
 * @example defineJob('report', { schedule: cron('0 6 * * *') }).task('build', (ctx) => build(ctx.signal))
 */
export function defineJob<Input = unknown, Payload = Input>(
  name: string,
  options: DefinitionOptions<Input, Payload> = {},
): Definition<Input, Payload, {}> {
  checkName(name, 'name of a job')
  const where = `job ${JSON.stringify(name)}`
  checkOptions(options, optionNames, where)
  const { payload, schedule, onStart, onComplete, ...settings } = options
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
    if (payload) checkOptional(payload as PayloadSchema, name)
  }
  return new Definition<Input, Payload, {}>(name, options, parseSettings(settings, where), [])
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
  return definition.tasks.length > 0 ? definition.tasks : soleTask
}

const soleTask: readonly TaskDefinition[] = [
  { name: 'run', after: undefined, settings: {}, retryFunction: undefined, handler: undefined },
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

function checkHook(hook: unknown, field: string, job: string): void {
  if (hook === undefined || typeof hook === 'function') return
  throw new PunctualError('option.invalid', `${field} of job ${JSON.stringify(job)} must be a function; got ${typeof hook}`, {
    field,
    job,
  })
}
