// Plans of random steps, and the keys they contend for.

import { scheduledId } from '../../model/ids.ts'
import type { Limit } from '../../model/limit.ts'
import type { JobPlan, PlanCandidate, PlanWork } from '../../store/store.ts'
import { pick, type Step } from './model-step.ts'

export function randomPlan(candidate: PlanCandidate, pauseRevision: number, { a, b, c }: Pick<Step, 'a' | 'b' | 'c'>): JobPlan {
  const { tenant, name: job, version, cursor } = candidate.job
  const ats = Array.from({ length: b % 3 }, (_, i) => cursor + (i + 1) * pick([1, 700, 5000], c))
  const rows = ats.map((at, i) => ({
    id: scheduledId(tenant, job, at),
    at,
    dueAt: at + pick([0, 0, 0, 900], b >> 2),
    version: pick(candidate.versions, b + i).version,
    source: pick(['schedule', 'schedule', 'recovery'] as const, c),
    priority: pick([5, 1], b),
    limits: pick(limitSets, (a >> 2) + i),
    span: pick([null, null, { from: cursor, to: at, count: 7 }], c >> 2),
    startWithinMs: pick([null, null, 3000], c >> 1),
    end: pick(
      [null, null, null, { state: 'missed', reason: 'downtime' }, { state: 'skipped', reason: 'paused' }] as const,
      b + i,
    ),
  }))
  const through = Math.max(cursor, ...ats)
  const range = {
    from: cursor,
    to: through,
    count: 2 + (a % 5),
    state: pick(['missed', 'skipped'] as const, a),
    reason: 'downtime',
  }
  const words = candidate.stranded.map((at, i) => ({ at, word: pick(['revive', 'drop', 'nothing'] as const, a + i) }))
  return {
    tenant,
    job,
    version: c % 9 === 0 ? version + 1 : version,
    cursor,
    pauseRevision: c % 13 === 0 ? pauseRevision + 1 : pauseRevision,
    through,
    nextAt: c % 17 === 0 ? null : through + 2000,
    tz: pick(['', '', '2026a 2026 00c0ffee'], b >> 3),
    rows,
    ranges: b % 6 === 0 ? [range] : [],
    revive: words.flatMap(({ at, word }) => (word === 'revive' ? [{ at, limits: pick(limitSets, b), span: null }] : [])),
    drop: words.flatMap(({ at, word }) => (word === 'drop' ? [{ at, state: 'missed' as const, reason: 'downtime' }] : [])),
  }
}

export function shownWork({ jobs, ...rest }: PlanWork): unknown {
  return { ...rest, jobs: jobs.toSorted(byTenant) }
}

export function byTenant(a: PlanCandidate, b: PlanCandidate): number {
  return a.job.tenant < b.job.tenant ? -1 : 1
}

/** The keys that steps contend for: several kinds and orders over few names. */
export const limitSets: readonly (readonly Limit[] | null)[] = [
  null,
  null,
  ...(['skip', 'queue', 'queue-one', 'cancel-previous'] as const).map((policy): readonly Limit[] => [
    { kind: 'overlap', key: 'o', limit: 1, policy },
  ]),
  [{ kind: 'concurrency', key: 'c', limit: 1 }],
  [
    { kind: 'overlap', key: 'o', limit: 1, policy: 'queue' },
    { kind: 'concurrency', key: 'c', limit: 1 },
  ],
  [
    { kind: 'concurrency', key: 'c', limit: 1 },
    { kind: 'catch-up', key: 'd', limit: 1 },
  ],
  [{ kind: 'rate', key: 'r', limit: 1, perMs: 3000 }],
  [
    { kind: 'overlap', key: 'p', limit: 1, policy: 'skip' },
    { kind: 'rate', key: 'r', limit: 1, perMs: 3000 },
    { kind: 'catch-up', key: 'd', limit: 1 },
  ],
  [{ kind: 'concurrency', key: 'c', limit: 3 }],
  [
    { kind: 'concurrency', key: 'b', limit: 2 },
    { kind: 'concurrency', key: 'c', limit: 2 },
    { kind: 'rate', key: 's', limit: 2, perMs: 700 },
  ],
  [
    { kind: 'catch-up', key: 'd', limit: 1 },
    { kind: 'catch-up-total', key: 'e', limit: 2 },
    { kind: 'overlap', key: 'o', limit: 1, policy: 'queue' },
  ],
]
