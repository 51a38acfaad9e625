// How a call names the occurrence it is about.
import { PunctualError, shown } from '../errors.ts'
import { Definition } from '../model/definition.ts'
import { defaultTenant } from '../model/job.ts'
import { checkKey, checkName, checkOptions } from '../model/limits.ts'
import type { CancelRequest, Which } from '../store/store.ts'
import { type Job, nameOf } from './job-name.ts'
import { type KeyOptions, storedKey } from './keys.ts'

/** One occurrence by its job and key: the live one that has the key, else the newest. */
export type KeyedTarget<J extends Job = Job> =
  | { tenant?: string; job: J; key: string; idempotencyKey?: never }
  | { tenant?: string; job: J; idempotencyKey: string; key?: never }

/** An occurrence by its id, or by its job and key. */
export type OccurrenceTarget<J extends Job = Job> = string | KeyedTarget<J>

/** With `entity`: all live occurrences of the job that are about it. */
export type CancelTarget = OccurrenceTarget | { tenant?: string; job: Job; entity: string }

export function whichOf(target: OccurrenceTarget): Which {
  if (typeof target === 'string') return { id: checkKey(target, 'id') }
  if (typeof target !== 'object' || target === null || target instanceof Definition || !('job' in target))
    throw new PunctualError(
      'option.invalid',
      `target must be the id of an occurrence, { job, key } or { job, idempotencyKey }; got ${kindOf(target)}`,
      { field: 'target' },
    )
  checkOptions(target, ['tenant', 'job', 'key', 'idempotencyKey'], 'target')
  const { key, unique } = storedKey(target as KeyOptions)
  return { tenant: tenantOf(target), job: nameOf(target.job), key: key ?? checkKey(undefined, 'key'), unique }
}

function kindOf(target: unknown): string {
  if (target instanceof Definition) return `the definition of job ${JSON.stringify(target.name)}`
  return typeof target === 'object' && target !== null ? `${shown(target)} without job` : shown(target)
}

export function cancelTarget(target: CancelTarget): CancelRequest['which'] {
  if (typeof target !== 'object' || target === null || !('entity' in target)) return whichOf(target)
  checkOptions(target, ['tenant', 'job', 'entity'], 'target')
  return { tenant: tenantOf(target), job: nameOf(target.job), entity: checkKey(target.entity, 'entity') }
}

export function isKeyed(target: object): target is KeyedTarget {
  return 'key' in target || 'idempotencyKey' in target
}

/** The target as messages name it. */
export function shownTarget(target: OccurrenceTarget): string {
  if (typeof target === 'string') return `occurrence ${target}`
  const { key, idempotencyKey } = target
  return key === undefined
    ? `occurrence with idempotencyKey ${JSON.stringify(idempotencyKey)}`
    : `occurrence with key ${JSON.stringify(key)}`
}

export function unknownOccurrence(target: OccurrenceTarget): PunctualError {
  const named = typeof target === 'string' ? target : { ...target, job: nameOf(target.job) }
  return new PunctualError('occurrence.unknown', `There is no ${shownTarget(target)}`, { target: named })
}

export function tenantOf({ tenant = defaultTenant }: { tenant?: string }): string {
  return checkName(tenant, 'tenant')
}
