// The calls of handlers that create and cancel other work.
import type { DurationInput } from '../time/duration.ts'
import type { InstantInput } from '../time/instant.ts'
import type { Refs } from './context.ts'
import type { PlainJson } from './json.ts'
import type { OccurrenceState } from './lifecycle.ts'
import type { SettingsOptions, TaskSettingsOptions } from './settings.ts'

/** A job as handlers name it: its definition, or its name. */
export type JobReference = string | { readonly name: string; readonly '~types'?: { readonly input: unknown } }

type InputOf<Job> = Job extends { readonly '~types'?: { readonly input: infer Input } } ? PlainJson<Input> : unknown

/** The payload may be left out where the job takes none, or anything. */
export type ChildArguments<Job> =
  undefined extends InputOf<Job>
    ? [payload?: InputOf<Job>, options?: ChildOptions]
    : [payload: InputOf<Job>, options?: ChildOptions]

/** The options of `ctx.enqueue`: those of `enqueue`, but for `tenant` and `tx`, which are those of the handler. */
export interface ChildOptions
  extends TaskSettingsOptions,
    Pick<SettingsOptions, 'executionTimeout' | 'deadLetter' | 'concurrency' | 'rate' | 'startWithin'> {
  /** From now, such as '15m'. */
  delay?: DurationInput
  /** A Date or an ISO 8601 text with an offset. */
  runAt?: InstantInput
  /** One live occurrence of the job has it. Within this task the key is used once: a later attempt finds the child of the first. */
  key?: string
  /** As `key`, but remembered after the end for `keyRetention`. */
  idempotencyKey?: string
  /** The record that the work is about. */
  entity?: string
  /** Ids of related records. */
  refs?: Refs
  /** 0–9, lower first. Default 5. */
  priority?: number
  /** For a taken key: `keep` the existing work (default), `reschedule` it, or `replace` its payload too. */
  onConflict?: 'keep' | 'reschedule' | 'replace'
}

/** The answer of `ctx.enqueue`. */
export interface Child {
  readonly id: string
  /** As of `enqueue`; `deferred` inside `ctx.transaction`, where the commit decides. */
  readonly outcome: 'created' | 'existing' | 'moved' | 'replaced' | 'tombstoned' | 'deferred'
  /** The state at the time of the call; null where it is not known. */
  readonly state: OccurrenceState | null
  /** The key was taken by work with another payload. */
  readonly payloadDiffers: boolean
}

/** Which work `ctx.cancel` cancels: an id, or a job with a key or an entity. The tenant is that of the handler. */
export type ChildTarget =
  | string
  | { job: JobReference; key: string }
  | { job: JobReference; idempotencyKey: string }
  | { job: JobReference; entity: string }

/** The options of `ctx.cancel`. */
export interface ChildCancelOptions {
  reason?: string
  /** Cancels also all that was created by handlers of this work, at every depth. */
  children?: boolean
}
