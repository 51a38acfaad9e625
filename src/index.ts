import './node-version.ts'

export type { By } from './client/audit-note.ts'
export type { AuditFault, AuditVerification, VerifyAuditOptions } from './client/audit-verification.ts'
export type { AuditFilter, AuditView } from './client/audits.ts'
export type { BackfillMode, BackfillOptions, BackfillPreview, OperationResult } from './client/backfills.ts'
export type { BulkFilter, BulkOptions, BulkResult, RetryAllOptions } from './client/bulk.ts'
export type { CancelOptions, CancelOutcome, DeadRetryOptions, TriggerOptions } from './client/commands.ts'
export type { DeadLetterFilter, DeadLetterGroup, DeadLetterGroups } from './client/dead-letters.ts'
export type { When } from './client/due-time.ts'
export type { ExplainTarget, Explanation } from './client/explain.ts'
export type {
  GateFilter,
  GateResolution,
  GateTarget,
  GateView,
  OnceCallInTransactionOptions,
  OnceCallOptions,
} from './client/gates.ts'
export type { Handle, ResultOptions } from './client/handle.ts'
export type {
  ScheduleOptions,
  ScheduleResult,
  UpdateOptions,
  UpdateResult,
} from './client/job-commands.ts'
export type { JobPatch, OverridableField } from './client/job-override.ts'
export type { FieldChange, JobView, VersionView } from './client/job-view.ts'
export type { KeyOptions, KeyView } from './client/keys.ts'
export type { ListFilter } from './client/list-filter.ts'
export type { LogLineView, LogView } from './client/log-view.ts'
export type { OperationPreview } from './client/matching.ts'
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
export type { NodeOptions, PunctualOptions } from './client/options.ts'
export type { PaceOptions } from './client/pace.ts'
export type { PauseOptions, PauseTarget, PauseView } from './client/pauses.ts'
export { createPunctual, type Punctual } from './client/punctual.ts'
export type { Counts, EffectiveSettings, JobFilter, JobStatus, LastResult, RangeView } from './client/reads.ts'
export type { Reason, ReasonCode } from './client/reason.ts'
export type { PruneOptions } from './client/removals.ts'
export type { ReplayAllOptions, ReplayOptions } from './client/replays.ts'
export type { Tenant } from './client/tenant.ts'
export type { DueSummary } from './engine/node/due-work.ts'
export type { HandlerMap } from './engine/node/registry.ts'
export { type ErrorCode, type ErrorDetails, errorCodes, PunctualError } from './errors.ts'
export type { AuditAction } from './model/audit.ts'
export type { Child, ChildCancelOptions, ChildOptions, ChildTarget, JobReference } from './model/child.ts'
export { type AesCodecOptions, aesCodec, type Codec } from './model/codec.ts'
export type { AbortReason, Context, FailOptions, Handler, Logger, Refs } from './model/context.ts'
export {
  type AnyDefinition,
  type Definition,
  defineJob,
  type InputOf,
  type PayloadOf,
  type ResultOf,
  type ResultsOf,
} from './model/definition.ts'
export type { DefinitionOptions, HookContext, TaskOptions } from './model/definition-options.ts'
export type { Checked, Effect, EffectContext, InScope, OnceInTransactionOptions, OnceOptions } from './model/effect.ts'
export type { EventName, Events, GateEvent, Health, Listener, OccurrenceEvent, TaskEvent } from './model/events.ts'
export type { AttemptState, OccurrenceState, Source, TaskRunState, TurnEnd } from './model/lifecycle.ts'
export type { PayloadSchema } from './model/payload.ts'
export type { PublishedEvent, PublishOptions } from './model/publish.ts'
export type { AttemptReport, ErrorRecord, ExecutionReport, TaskReport } from './model/report.ts'
export type { Keep, RetentionOptions } from './model/retention.ts'
export type { RetryFunction, RetryOptions, RetryQuestion } from './model/retry.ts'
export type { FailureStrategy, Settings, SettingsOptions, TaskMode, TaskSettingsOptions } from './model/settings.ts'
export type { Upcaster } from './model/upcast.ts'
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
export type { GateState } from './store/messages/gate.ts'
export type { StoreCall, StoreVerb } from './store/observed.ts'
export type { Page } from './store/query.ts'
export type { CallerTransaction, NodeRecord, Queryable, SqliteTransaction, Store } from './store/store.ts'
export type { Clock } from './time/clock.ts'
export type { DurationInput } from './time/duration.ts'
export type { InstantInput } from './time/instant.ts'
