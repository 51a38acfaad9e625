// Limits as data: the keys that an occurrence must be granted before it runs. The door (store/rules/door.ts) grants them.
import { PunctualError } from '../errors.ts'
import type { JobSpec } from './job.ts'
import type { Source } from './lifecycle.ts'
import type { ConcurrencyLimit, OverlapPolicy } from './overlap.ts'
import { cascade, type Settings, type SettingsDiff } from './settings.ts'

/**
 * The kinds of limits, in the order in which keys are asked for. The order is the same for all work, so two occurrences never wait for
 * each other. Catch-up keys come before the overlap: a recovery run that waits for one does not hold up live instants of its job.
 */
export const limitKinds = ['catch-up', 'catch-up-total', 'overlap', 'concurrency', 'rate'] as const
export type LimitKind = (typeof limitKinds)[number]

/** One key that an occurrence needs. */
export interface Limit {
  readonly kind: LimitKind
  /** Unambiguous over kinds and tenants. */
  readonly key: string
  readonly limit: number
  /** Of a rate: the length of the window. Its slot is free again this long after the claim. */
  readonly perMs?: number
  /** Of an overlap: what a taken key means. */
  readonly policy?: Exclude<OverlapPolicy, 'allow'>
}

/** Limits in the order of the door. */
export function inDoorOrder(limits: readonly Limit[]): readonly Limit[] {
  return limits.toSorted((a, b) => rankOf(a) - rankOf(b) || (a.key < b.key ? -1 : 1))
}

export function rankOf({ kind }: Pick<Limit, 'kind'>): number {
  return limitKinds.indexOf(kind)
}

/** The keys an occurrence needs, in the order of the door; null when there are none, which is the common case. */
export function limitsFor({
  tenant,
  job,
  source,
  settings,
}: {
  tenant: string
  job: string
  source: Source
  settings: Settings
}): readonly Limit[] | null {
  const limits: Limit[] = []
  if (source === 'recovery') {
    limits.push({ kind: 'catch-up', key: limitKey('catch-up', tenant, job), limit: 1 })
    limits.push({ kind: 'catch-up-total', key: limitKey('catch-up'), limit: settings.catchUp })
  }
  const policy = overlapFor(source, settings.overlap)
  if (policy !== 'allow') limits.push({ kind: 'overlap', key: limitKey('overlap', tenant, job), limit: 1, policy })
  if (settings.concurrency) {
    const { limit } = settings.concurrency
    limits.push({ kind: 'concurrency', key: limitKey('concurrency', tenant, ...ownKey(settings.concurrency, job)), limit })
  }
  if (settings.rate) {
    // The window is a part of the key: jobs that share a key text under different windows do not disturb each other.
    const { limit, perMs } = settings.rate
    limits.push({ kind: 'rate', key: limitKey('rate', tenant, ...ownKey(settings.rate, job), String(perMs)), limit, perMs })
  }
  return limits.length === 0 ? null : limits
}

/** The limits of work that comes from a process which does not know the job: its own, and those that the job declares, if it is there. */
export function declaredLimits(
  spec: JobSpec | undefined,
  { tenant, job, source, settings }: { tenant: string; job: string; source: Source; settings: SettingsDiff | null },
): {
  readonly limits: readonly Limit[] | null
  readonly startWithinMs: number | null
} {
  const effective = cascade(spec?.defaults, spec?.settings, settings)
  return { limits: limitsFor({ tenant, job, source, settings: effective }), startWithinMs: effective.startWithinMs }
}

/** Scheduled instants follow the job's policy; what a person or a gap brings waits its turn; enqueued work does not mind. */
function overlapFor(source: Source, policy: OverlapPolicy): OverlapPolicy {
  if (source === 'schedule') return policy
  if (source === 'deferred' || source === 'timer' || source === 'backfill') return 'allow'
  return policy === 'allow' ? 'allow' : 'queue'
}

/** The text of a user, or, of the job itself, two parts that no text of a user equals. */
function ownKey({ key, isByPayload }: ConcurrencyLimit, job: string): readonly string[] {
  if (!isByPayload) return key === null ? ['', job] : [key]
  throw new PunctualError(
    'definition.unknown',
    `A limit key of job ${JSON.stringify(job)} is a function of the payload: only a process that has the definition can create this work`,
    { field: 'key', job },
  )
}

function limitKey(...parts: readonly string[]): string {
  return JSON.stringify(parts)
}
