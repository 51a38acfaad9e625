// Limits as records: which keys an occurrence must hold in order to run. Stores grant and free them in the commits that claim and end.
import { PunctualError } from '../errors.ts'
import type { JobSpec } from './job.ts'
import type { Source } from './lifecycle.ts'
import type { ConcurrencyLimit, OverlapPolicy } from './overlap.ts'
import { cascade, type Settings, type SettingsDiff } from './settings.ts'

/** One key that an occurrence needs. */
export interface Hold {
  readonly kind: 'overlap' | 'concurrency' | 'rate' | 'catch-up'
  /** Unambiguous over kinds and tenants. */
  readonly key: string
  readonly limit: number
  /** Of a rate: the length of the window. Nothing is held; starts are counted. */
  readonly perMs?: number
  /** Of an overlap: what a taken key means. */
  readonly policy?: Exclude<OverlapPolicy, 'allow'>
}

/** The keys an occurrence needs, in the order in which they are taken; null when there are none, which is the common case. */
export function holdsFor({
  tenant,
  job,
  source,
  settings,
}: {
  tenant: string
  job: string
  source: Source
  settings: Settings
}): readonly Hold[] | null {
  const holds: Hold[] = []
  const policy = overlapFor(source, settings.overlap)
  if (policy !== 'allow') holds.push({ kind: 'overlap', key: holdKey('overlap', tenant, job), limit: 1, policy })
  else if (source === 'recovery') holds.push({ kind: 'catch-up', key: holdKey('catch-up', tenant, job), limit: 1 })
  if (settings.concurrency)
    holds.push({
      kind: 'concurrency',
      key: limitKey('concurrency', settings.concurrency, tenant, job),
      limit: settings.concurrency.limit,
    })
  if (settings.rate)
    holds.push({
      kind: 'rate',
      key: limitKey('rate', settings.rate, tenant, job),
      limit: settings.rate.limit,
      perMs: settings.rate.perMs,
    })
  if (source === 'recovery') holds.push({ kind: 'catch-up', key: holdKey('catch-up'), limit: settings.catchUp })
  return holds.length === 0 ? null : holds
}

/** The limits of work that comes from a process which does not know the job: its own, and those that the job declares, if it is there. */
export function declaredLimits(
  spec: JobSpec | undefined,
  { tenant, job, source, settings }: { tenant: string; job: string; source: Source; settings: SettingsDiff | null },
): {
  readonly holds: readonly Hold[] | null
  readonly startWithinMs: number | null
} {
  const effective = cascade(spec?.defaults, spec?.settings, settings)
  return { holds: holdsFor({ tenant, job, source, settings: effective }), startWithinMs: effective.startWithinMs }
}

/** Scheduled instants follow the job's policy; what a person or a gap brings waits its turn; enqueued work does not mind. */
function overlapFor(source: Source, policy: OverlapPolicy): OverlapPolicy {
  if (source === 'schedule') return policy
  if (source === 'deferred' || source === 'timer' || source === 'backfill') return 'allow'
  return policy === 'allow' ? 'allow' : 'queue'
}

/** Limits of the job itself have keys that no text of a user equals. */
function limitKey(kind: 'concurrency' | 'rate', { key, isByPayload }: ConcurrencyLimit, tenant: string, job: string): string {
  if (!isByPayload) return key === null ? holdKey(kind, tenant, 'job', job) : holdKey(kind, tenant, key)
  throw new PunctualError(
    'definition.unknown',
    `${kind}.key of job ${JSON.stringify(job)} is a function of the payload: only a process that has the definition can create this work`,
    { field: `${kind}.key`, job },
  )
}

function holdKey(...parts: readonly string[]): string {
  return JSON.stringify(parts)
}
