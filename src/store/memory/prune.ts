import { isEnd } from '../../model/lifecycle.ts'
import { deleteJobAudit, occurrenceAudit, pruneAudit } from '../rules/audit.ts'
import { isReplaced } from '../rules/put-job.ts'
import { tombstoneOf } from '../rules/tombstone.ts'
import type { PruneAnswer, PruneRequest, Which } from '../store.ts'
import { appendAudit, sealAudit } from './audit.ts'
import { audited, type Entry } from './entry.ts'
import { foldFigures } from './figures.ts'
import { find } from './find.ts'
import { forgetGates } from './gate.ts'
import { jobKey } from './runs.ts'
import type { State } from './state.ts'
import { dropExpiredTokens } from './tokens.ts'

type JobName = NonNullable<PruneRequest['job']>

export function prune(state: State, request: PruneRequest): PruneAnswer {
  const {
    endedBefore,
    keyRetentionMs,
    limit,
    auditBefore = null,
    pausesBefore = null,
    rules = [],
    only,
    job: whole,
    audit,
  } = request
  const { now } = state
  if (only) return pruneOnly(state, only, request)
  if (whole) return pruneJob(state, whole, request)
  for (const [id, { until }] of state.tombstones) if (until < now) state.tombstones.delete(id)
  forgetGates(state)
  sealAudit(state, auditBefore)
  foldFigures(state)
  dropExpiredTokens(state)
  forgetPauses(state, pausesBefore)
  forgetRanges(state, request.rangesBefore ?? null)
  forgetVersions(state, request.versionsBefore ?? null)
  const byJob = new Map(rules.map((rule) => [jobKey(rule.tenant, rule.job), rule.ends]))
  const newer = new Map<string, number>()
  const past: Entry[] = []
  for (const entry of [...state.entries.values()].reverse()) {
    const last = entry.turns.at(-1)
    if (entry.place !== 'ended' || last === undefined || !isEnd(entry.state)) continue
    const job = jobKey(entry.tenant, entry.job)
    const ends = byJob.get(job)
    const rank = (newer.get(`${job} ${entry.state}`) ?? 0) + 1
    newer.set(`${job} ${entry.state}`, rank)
    const rule = ends ? ends[entry.state] : { endedBefore, count: null }
    if (rule && isPast(rule, last.endedAt, rank) && !state.hookNotes.has(entry.ref)) past.push(entry)
  }
  const pruned = past.reverse().slice(0, limit)
  for (const entry of pruned) remove(state, entry, keyRetentionMs)
  appendAudit(state, pruneAudit(audit, pruned.length))
  return { pruned: pruned.length, more: pruned.length === limit }
}

/** Deletes one record that is no longer needed by anyone. */
function pruneOnly(state: State, which: Which, { keyRetentionMs, audit }: PruneRequest): PruneAnswer {
  const entry = find(state, which)
  if (!entry) return { pruned: 0, more: false, outcome: 'unknown' }
  if (entry.place !== 'ended') return { pruned: 0, more: false, outcome: 'live' }
  appendAudit(state, occurrenceAudit(audit, audited(entry), null))
  remove(state, entry, keyRetentionMs)
  return { pruned: 1, more: false, outcome: 'deleted' }
}

/** Deletes the work of a job, and at last the job. */
function pruneJob(state: State, { tenant, job }: JobName, { keyRetentionMs, limit, audit }: PruneRequest): PruneAnswer {
  const key = jobKey(tenant, job)
  const known = state.jobs.get(key)
  if (!known) return { pruned: 0, more: false, outcome: 'unknown' }
  const own = [...state.entries.values()].filter((entry) => entry.tenant === tenant && entry.job === job)
  if (own.some(({ place }) => place !== 'ended')) return { pruned: 0, more: false, outcome: 'live' }
  appendAudit(state, deleteJobAudit(audit, known))
  for (const entry of own.slice(0, limit)) remove(state, entry, keyRetentionMs)
  if (own.length > limit) return { pruned: limit, more: true }
  state.jobs.delete(key)
  state.versions.delete(key)
  state.lastVersions.set(key, known.version)
  state.runs.forget({ tenant, job })
  retain(state.ranges, (range) => range.tenant !== tenant || range.job !== job)
  retain(state.pauses, (pause) => pause.tenant !== tenant || pause.job !== job)
  state.hint({ kind: 'job' })
  return { pruned: own.length, more: false, outcome: 'deleted' }
}

function remove(state: State, entry: Entry, keyRetentionMs: number): void {
  const tombstone = tombstoneOf(entry.record, entry)
  if (tombstone) state.tombstones.set(entry.id, { ...tombstone, until: state.now + keyRetentionMs })
  state.remove(entry)
}

function forgetPauses(state: State, before: number | null): void {
  if (before !== null) retain(state.pauses, ({ to }) => to === null || to >= before)
}

function forgetRanges(state: State, before: number | null): void {
  if (before !== null) retain(state.ranges, ({ recordedAt }) => recordedAt >= before)
}

function forgetVersions(state: State, before: number | null): void {
  if (before === null) return
  for (const [key, job] of state.jobs) {
    const versions = state.versions.get(key) ?? []
    const kept = versions.filter((version) => !isReplaced(version, job, versions, before))
    if (kept.length < versions.length) state.versions.set(key, kept)
  }
}

/** Removes all but some, in place. */
function retain<Item>(items: Item[], isKept: (item: Item) => boolean): void {
  const kept = items.filter(isKept)
  if (kept.length < items.length) items.splice(0, items.length, ...kept)
}

/** Whether an ended occurrence goes. `rank`: its place among those of its job and end, 1 for the newest. */
function isPast(
  { endedBefore, count }: { readonly endedBefore: number | null; readonly count: number | null },
  endedAt: number,
  rank: number,
): boolean {
  return (endedBefore !== null && endedAt < endedBefore) || (count !== null && rank > count)
}
