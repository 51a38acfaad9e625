import { keyedId } from '../../model/ids.ts'
import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import type { OccurrenceHistory, OccurrenceSummary } from '../../model/occurrence.ts'
import { decodeCursor, encodeCursor, type OccurrenceFilter, type Page } from '../query.ts'
import type { JobCounts, NodesAnswer, RangeRecord, Which } from '../store.ts'
import { type Entry, liveKey, type MemoryState, stateOf } from './state.ts'

export function find(state: MemoryState, which: Which): Entry | null {
  if ('id' in which) {
    const entry = state.byId.get(which.id)
    return entry && (which.tenant === undefined || which.tenant === entry.record.tenant) ? entry : null
  }
  const known = state.byId.get(keyedId(which.tenant, which.job, which.key)) ?? state.liveKeys.get(liveKey(which))
  if (known) return known
  const { tenant, job, key } = which
  return (
    [...state.entries.values()].findLast(({ record }) => record.tenant === tenant && record.job === job && record.key === key) ??
    null
  )
}

export function get(state: MemoryState, which: Which): OccurrenceHistory | null {
  const entry = find(state, which)
  if (!entry) return null
  const { record, dueAt, turns, attempts, progress } = entry
  const node = entry.claim === null ? null : (state.claims.get(entry.claim)?.node ?? null)
  return {
    record,
    state: stateOf(entry),
    dueAt,
    node,
    turns: [...turns],
    attempts: [...attempts],
    progress,
    wait: entry.wait,
    blockers: blockers(state, entry),
  }
}

function blockers(state: MemoryState, { wait }: Entry): readonly string[] {
  const holders = wait?.key ? [...(state.holders.get(wait.key) ?? [])] : []
  return holders.slice(0, 10).map((holder) => holder.record.id)
}

export function list(state: MemoryState, filter: OccurrenceFilter): Page<OccurrenceSummary> {
  const below = filter.cursor === undefined ? Number.POSITIVE_INFINITY : decodeCursor(filter.cursor)
  const matching = [...state.entries.values()]
    .filter((entry) => entry.ref < below && matches(entry, filter))
    .sort((a, b) => b.ref - a.ref)
  const page = matching.slice(0, filter.limit)
  const last = page.at(-1)
  return { items: page.map(summary), cursor: last && matching.length > page.length ? encodeCursor(last.ref) : null }
}

function matches(entry: Entry, { tenant, job, states, key, entity, from, to }: OccurrenceFilter): boolean {
  const { record } = entry
  return (
    (tenant === undefined || record.tenant === tenant) &&
    (job === undefined || record.job === job) &&
    (states === undefined || states.includes(stateOf(entry))) &&
    (key === undefined || record.key === key) &&
    (entity === undefined || record.entity === entity) &&
    (from === undefined || record.scheduledAt >= from) &&
    (to === undefined || record.scheduledAt < to)
  )
}

function summary(entry: Entry): OccurrenceSummary {
  const { id, tenant, job, key, entity, source, scheduledAt, createdAt } = entry.record
  const last = entry.turns.at(-1)
  const ended = entry.place === 'ended'
  return {
    id,
    tenant,
    job,
    key,
    entity,
    source,
    state: stateOf(entry),
    turn: entry.turn,
    scheduledAt,
    dueAt: entry.dueAt,
    createdAt,
    startedAt: last?.startedAt ?? null,
    endedAt: ended ? (last?.endedAt ?? null) : null,
    error: last?.error ?? null,
  }
}

export function counts(state: MemoryState, asked: { tenant?: string; job?: string }): JobCounts {
  const states = Object.fromEntries(occurrenceStates.map((name) => [name, 0])) as Record<OccurrenceState, number>
  for (const entry of state.entries.values()) if (isAsked(asked, entry.record)) states[stateOf(entry)]++
  for (const range of state.ranges) if (isAsked(asked, range)) states[range.state] += range.count
  const runs = ofJobs(state.lastRuns, asked)
  const failures = ofJobs(state.failuresInRow, asked)
  return {
    states,
    lastRunAt: runs.length === 0 ? null : Math.max(...runs),
    failuresInRow: failures.reduce((sum, count) => sum + count, 0),
  }
}

export function listRanges(
  state: MemoryState,
  { limit, ...asked }: { tenant?: string; job?: string; limit: number },
): readonly RangeRecord[] {
  return state.ranges
    .filter((range) => isAsked(asked, range))
    .toReversed()
    .slice(0, limit)
}

function ofJobs(values: ReadonlyMap<string, number>, asked: { tenant?: string; job?: string }): number[] {
  return [...values].flatMap(([key, value]) => {
    const [tenant, job] = JSON.parse(key) as [string, string]
    return isAsked(asked, { tenant, job }) ? [value] : []
  })
}

function isAsked({ tenant, job }: { tenant?: string; job?: string }, of: { tenant: string; job: string }): boolean {
  return (tenant === undefined || tenant === of.tenant) && (job === undefined || job === of.job)
}

export function nodes(state: MemoryState): NodesAnswer {
  const all = [...state.nodes.values()]
  const served = new Set(all.flatMap(({ kinds }) => kinds))
  const { now } = state
  return {
    now,
    nodes: all,
    unserved: state.ready
      .kindsDue(now)
      .filter((kind) => !served.has(kind))
      .sort(),
  }
}
