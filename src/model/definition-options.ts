import type { Schedule } from '../schedule/schedule.ts'
import type { Context } from './context.ts'
import type { ConcurrencyOptions, LimitKey, RateOptions } from './overlap.ts'
import type { PayloadSchema } from './payload.ts'
import type { PublishOptions } from './publish.ts'
import type { ExecutionReport } from './report.ts'
import type { FailureStrategy, SettingsOptions, TaskMode, TaskSettingsOptions } from './settings.ts'
import type { Upcaster } from './upcast.ts'

/** The options of `defineJob`. */
export interface DefinitionOptions<
  Input = unknown,
  Payload = Input,
  Mode extends TaskMode = TaskMode,
  OnFailure extends FailureStrategy = FailureStrategy,
> extends Omit<SettingsOptions, 'mode' | 'onFailure' | 'concurrency' | 'rate'> {
  /** A Standard Schema (zod, valibot, arktype …) that every payload must pass. */
  payload?: PayloadSchema<Input, Payload>
  /**
   * Functions that bring payloads of older forms to the next newer one, the oldest first: work that was enqueued before a release changed
   * the schema runs after it. Needs `payload`.
   */
  upcast?: readonly Upcaster[]
  /**
   * Paths of the payload whose values are hidden in log lines, errors, progress, events, audit events, the CLI, and over HTTP from
   * everybody but admins: `card.number`, or `items.*.iban` for every element. Handlers and the stored payload have the values.
   */
  redact?: readonly string[]
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
  /**
   * Publishes events of the job as messages: the name of a topic, or more about where and which. Each is stored as work of
   * `punctual/publish` in the commit of what it reports, and a node with `createPublisher` sends it.
   */
  publish?: string | PublishOptions
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
