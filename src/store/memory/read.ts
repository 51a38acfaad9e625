import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import type { OccurrenceHistory, OccurrenceSummary } from '../../model/occurrence.ts'
import { find } from '../ledger/find.ts'
import { type Entry, jobOf, type Ledger, stateOf } from '../ledger/ledger.ts'
import { decodeCursor, encodeCursor, type OccurrenceFilter, type Page } from '../query.ts'
import type { JobCounts, NodesAnswer, RangeRecord, Which } from '../store.ts'

export function get(ledger: Ledger, which: Which): OccurrenceHistory | null {
  const entry = find(ledger, which)
  if (!entry) return null
  const { record, dueAt, turns, attempts, progress } = entry
  const node = entry.claim === null ? null : (ledger.claims.get(entry.claim)?.node ?? null)
  return {
    record,
    state: stateOf(entry),
    dueAt,
    node,
    turns: [...turns],
    attempts: [...attempts],
    progress,
    wait: entry.wait,
    blockers: blockers(ledger, entry),
  }
}

function blockers(ledger: Ledger, { wait }: Entry): readonly string[] {
  const holders = wait?.key ? [...(ledger.holders.get(wait.key) ?? [])] : []
  return holders.slice(0, 10).map((holder) => holder.record.id)
}

export function list(ledger: Ledger, filter: OccurrenceFilter): Page<OccurrenceSummary> {
  const below = filter.cursor === undefined ? Number.POSITIVE_INFINITY : decodeCursor(filter.cursor)
  const matching = [...ledger.entries.values()]
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

export function counts(ledger: Ledger, asked: { tenant?: string; job?: string }): JobCounts {
  const states = Object.fromEntries(occurrenceStates.map((name) => [name, 0])) as Record<OccurrenceState, number>
  for (const entry of ledger.entries.values()) if (isAsked(asked, entry.record)) states[stateOf(entry)]++
  for (const range of ledger.ranges) if (isAsked(asked, range)) states[range.state] += range.count
  const runs = ofJobs(ledger.lastRuns, asked)
  const failures = ofJobs(ledger.failuresInRow, asked)
  return {
    states,
    lastRunAt: runs.length === 0 ? null : Math.max(...runs),
    failuresInRow: failures.reduce((sum, count) => sum + count, 0),
  }
}

export function listRanges(
  ledger: Ledger,
  { limit, ...asked }: { tenant?: string; job?: string; limit: number },
): readonly RangeRecord[] {
  return ledger.ranges
    .filter((range) => isAsked(asked, range))
    .toReversed()
    .slice(0, limit)
}

function ofJobs(values: ReadonlyMap<string, number>, asked: { tenant?: string; job?: string }): number[] {
  return [...values].flatMap(([key, value]) => (isAsked(asked, jobOf(key)) ? [value] : []))
}

function isAsked({ tenant, job }: { tenant?: string; job?: string }, of: { tenant: string; job: string }): boolean {
  return (tenant === undefined || tenant === of.tenant) && (job === undefined || job === of.job)
}

export function nodes(ledger: Ledger): NodesAnswer {
  const all = [...ledger.nodes.values()]
  const served = new Set(all.flatMap(({ kinds }) => kinds))
  const { now } = ledger
  return {
    now,
    nodes: all,
    unserved: ledger.ready
      .kindsDue(now)
      .filter((kind) => !served.has(kind))
      .sort(),
    // To find out would take as long as the rescue.
    isRescueDue: true,
  }
}
