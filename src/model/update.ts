import { PunctualError, shown } from '../errors.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { type InstantInput, parseInstant } from '../time/instant.ts'
import { checkOptions, checkWhole } from './limits.ts'

/** A number of instants of a schedule, or a length of time. */
export type UpdateStretch = { count: number } | { span: DurationInput }

/**
 * When a change of a job takes hold. `immediate`: now. `graceful`: the old schedule holds for one more instant, for a number of them,
 * for a span, or until an instant. `windowed`: now, and the answer tells which instants differ within the window.
 */
export type UpdatePolicy =
  | 'immediate'
  | 'graceful'
  | { graceful: UpdateStretch | { at: InstantInput } }
  | { windowed: UpdateStretch }

type Stretch = { readonly kind: 'count'; readonly count: number } | { readonly kind: 'span'; readonly ms: number }

export interface ParsedUpdatePolicy {
  /** How long the old schedule still holds; null for not at all. */
  readonly grace: Stretch | { readonly kind: 'at'; readonly at: number } | null
  /** The window of the returned difference; null for none. */
  readonly window: Stretch | null
}

/** The instants that a change adds and takes away, within a window. */
export interface ScheduleDifference {
  readonly from: Date
  readonly to: Date
  readonly added: readonly Date[]
  readonly removed: readonly Date[]
}

/** Yields the instants of a job: the first strictly after, or null. */
export type NextInstant = (after: number) => number | null

const mostCount = 10_000

export function parseUpdatePolicy(policy: UpdatePolicy = 'immediate'): ParsedUpdatePolicy {
  if (policy === 'immediate') return { grace: null, window: null }
  if (policy === 'graceful') return { grace: { kind: 'count', count: 1 }, window: null }
  if (typeof policy !== 'object' || policy === null || Object.keys(policy).length !== 1) throw invalid(policy)
  checkOptions(policy, ['graceful', 'windowed'], 'update')
  if ('windowed' in policy) return { grace: null, window: parseStretch(policy.windowed, 'update.windowed') }
  const { graceful } = policy
  if (typeof graceful === 'object' && graceful !== null && 'at' in graceful && Object.keys(graceful).length === 1)
    return { grace: { kind: 'at', at: parseInstant(graceful.at, 'update.graceful.at') }, window: null }
  return { grace: parseStretch(graceful as UpdateStretch, 'update.graceful'), window: null }
}

function parseStretch(given: UpdateStretch, field: string): Stretch {
  if (typeof given !== 'object' || given === null || Object.keys(given).length !== 1) throw invalid(given)
  checkOptions(given, ['count', 'span'], field)
  if ('count' in given) return { kind: 'count', count: checkWhole(given.count, `${field}.count`, 1, mostCount) }
  return { kind: 'span', ms: parseDuration(given.span, `${field}.span`) }
}

/** The instant from which on a change holds; null for now. `next` yields the instants of the job as it is. */
export function updateInstant({ grace }: ParsedUpdatePolicy, now: number, next: NextInstant): number | null {
  if (grace === null) return null
  if (grace.kind === 'at') return grace.at > now ? grace.at : null
  const end = endOf(grace, now, next)
  if (grace.kind === 'span') return end
  return end === now ? null : end + 1
}

/** The difference that a change makes within its window, given the instants before and after it. */
export function scheduleDifference(window: Stretch, now: number, before: NextInstant, after: NextInstant): ScheduleDifference {
  const to = endOf(window, now, after)
  const [old, fresh] = [instants(before, now, to), instants(after, now, to)]
  const without = (some: ReadonlySet<number>, others: ReadonlySet<number>) =>
    [...some].filter((at) => !others.has(at)).map((at) => new Date(at))
  return { from: new Date(now), to: new Date(to), added: without(fresh, old), removed: without(old, fresh) }
}

/** The end of a stretch: so long after now, or the last of so many instants; now where there is none. */
function endOf(stretch: Stretch, now: number, next: NextInstant): number {
  if (stretch.kind === 'span') return now + stretch.ms
  let at = now
  for (let left = stretch.count; left > 0; left--) {
    const following = next(at)
    if (following === null) break
    at = following
  }
  return at
}

function instants(next: NextInstant, from: number, to: number): ReadonlySet<number> {
  const found = new Set<number>()
  for (let at = next(from); at !== null && at <= to && found.size < mostCount; at = next(at)) found.add(at)
  return found
}

function invalid(policy: unknown): PunctualError {
  return new PunctualError(
    'option.invalid',
    `update must be immediate, graceful, { graceful: { count }, { span } or { at } }, or { windowed: { count } or { span } }; got ${shown(policy)}`,
    { field: 'update' },
  )
}
