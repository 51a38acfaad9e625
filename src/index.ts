import './node-version.ts'

export type { CancelOptions, CancelOutcome, TriggerOptions } from './client/commands.ts'
export type { ExplainTarget, Explanation } from './client/explain.ts'
export type { Handle, ResultOptions } from './client/handle.ts'
export type {
  JobPatch,
  OverridableField,
  ScheduleOptions,
  ScheduleResult,
  UpdateOptions,
  UpdateResult,
} from './client/job-commands.ts'
export type { FieldChange, JobView, VersionView } from './client/job-view.ts'
export type { KeyOptions, KeyView } from './client/keys.ts'
export type { ListFilter } from './client/list-filter.ts'
export type { EnqueueOptions, EnqueueRequest } from './client/new-occurrence.ts'
export type { CancelTarget, KeyedTarget, OccurrenceTarget } from './client/occurrence-target.ts'
export type {
  AttemptView,
  Occurrence,
  OccurrenceLine,
  OccurrenceOf,
  TaskView,
  TurnView,
  WaitView,
} from './client/occurrence-view.ts'
export type { BackfillMode, BackfillOptions, BackfillPreview, OperationResult, ReplayOptions } from './client/operations.ts'
export type { NodeOptions, PunctualOptions } from './client/options.ts'
export type { PauseOptions, PauseTarget, PauseView } from './client/pauses.ts'
export { createPunctual, type Punctual } from './client/punctual.ts'
export type { Counts, EffectiveSettings, JobFilter, JobStatus, LastResult, RangeView } from './client/reads.ts'
export type { Reason, ReasonCode } from './client/reason.ts'
export type { Tenant } from './client/tenant.ts'
export type { When } from './client/when.ts'
export type { DueSummary } from './engine/node/due-work.ts'
export type { HandlerMap } from './engine/node/registry.ts'
export { type ErrorCode, type ErrorDetails, errorCodes, PunctualError } from './errors.ts'
export type { AbortReason, Context, FailOptions, Handler, Logger, Refs } from './model/context.ts'
export {
  type AnyDefinition,
  type Definition,
  type DefinitionOptions,
  defineJob,
  type HookContext,
  type InputOf,
  type PayloadOf,
  type ResultOf,
  type ResultsOf,
  type TaskOptions,
} from './model/definition.ts'
export type { EventName, Events, Health, Listener, OccurrenceEvent, TaskEvent } from './model/events.ts'
export type { AttemptState, OccurrenceState, Source, TaskRunState, TurnEnd } from './model/lifecycle.ts'
export type { PayloadSchema } from './model/payload.ts'
export type { AttemptReport, ErrorRecord, ExecutionReport, TaskReport } from './model/report.ts'
export type { RetryFunction, RetryOptions, RetryQuestion } from './model/retry.ts'
export type { FailureStrategy, Settings, SettingsOptions, TaskMode, TaskSettingsOptions } from './model/settings.ts'
export type { ScheduleDifference, UpdatePolicy, UpdateStretch } from './model/update.ts'
export type { BoundsOptions } from './schedule/bounds.ts'
export { type CronOptions, cron } from './schedule/cron.ts'
export type { ExclusionInput } from './schedule/exclusion.ts'
export { type IntervalOptions, interval } from './schedule/interval.ts'
export { once } from './schedule/once.ts'
export { equalSchedules, registerSchedule, restoreSchedule } from './schedule/restore.ts'
export { type RRuleOptions, rrule } from './schedule/rrule.ts'
export type { Schedule, ScheduleJson } from './schedule/schedule.ts'
export { union } from './schedule/union.ts'
export type { Page } from './store/query.ts'
export type { NodeRecord, Queryable, Store } from './store/store.ts'
export type { Clock } from './time/clock.ts'
export type { DurationInput } from './time/duration.ts'
export type { InstantInput } from './time/instant.ts'
