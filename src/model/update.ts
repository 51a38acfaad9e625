import { PunctualError, shown } from '../errors.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { checkOptions, checkWhole } from './limits.ts'

/**
 * When a change of a job takes hold: at once (`immediate`), after the old schedule's next instant (`graceful`), or after a window of
 * its instants or of time.
 */
export type UpdatePolicy = 'immediate' | 'graceful' | { count: number } | { span: DurationInput }

export type ParsedUpdatePolicy =
  | { readonly kind: 'immediate' }
  | { readonly kind: 'instants'; readonly count: number }
  | { readonly kind: 'span'; readonly ms: number }

export function parseUpdatePolicy(policy: UpdatePolicy = 'immediate'): ParsedUpdatePolicy {
  if (policy === 'immediate') return { kind: 'immediate' }
  if (policy === 'graceful') return { kind: 'instants', count: 1 }
  if (typeof policy !== 'object' || policy === null) throw invalid(policy)
  checkOptions(policy, ['count', 'span'], 'update')
  if ('count' in policy && !('span' in policy))
    return { kind: 'instants', count: checkWhole(policy.count, 'update.count', 1, 10_000) }
  if ('span' in policy && !('count' in policy)) return { kind: 'span', ms: parseDuration(policy.span, 'update.span') }
  throw invalid(policy)
}

/** The instant from which on a change holds; null for now. `next` yields the instants of the job as it is. */
export function updateInstant(policy: ParsedUpdatePolicy, now: number, next: (after: number) => number | null): number | null {
  if (policy.kind === 'immediate') return null
  if (policy.kind === 'span') return now + policy.ms
  let at = now
  for (let left = policy.count; left > 0; left--) {
    const following = next(at)
    if (following === null) break
    at = following
  }
  return at === now ? null : at + 1
}

function invalid(policy: unknown): PunctualError {
  return new PunctualError('option.invalid', `update must be immediate, graceful, { count } or { span }; got ${shown(policy)}`, {
    field: 'update',
  })
}
