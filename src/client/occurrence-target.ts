// How a call names the occurrence it is about.
import { PunctualError } from '../errors.ts'
import { defaultTenant } from '../model/job.ts'
import { checkKey, checkName, checkObject, checkOptions } from '../model/limits.ts'
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
  const where = 'an occurrence is named by its id, by { tenant?, job, key } or by { tenant?, job, idempotencyKey }; the target'
  checkObject(target, where)
  checkOptions(target, ['tenant', 'job', 'key', 'idempotencyKey'], where)
  const { key, unique } = storedKey(target as KeyOptions)
  return { tenant: tenantOf(target), job: nameOf(target.job), key: key ?? checkKey(undefined, 'key'), unique }
}

export function cancelTarget(target: CancelTarget): CancelRequest['which'] {
  if (typeof target !== 'object' || target === null || !('entity' in target)) return whichOf(target)
  checkOptions(target, ['tenant', 'job', 'entity'], 'the target')
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
  return new PunctualError('occurrence.unknown', `There is no ${shownTarget(target)}`, { target })
}

export function tenantOf({ tenant = defaultTenant }: { tenant?: string }): string {
  return checkName(tenant, 'tenant')
}
