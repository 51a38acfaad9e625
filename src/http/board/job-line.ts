import { isOwnJob, type JobRecord } from '../../model/job.ts'
import type { OccurrenceState } from '../../model/lifecycle.ts'
import type { OccurrenceSummary } from '../../model/occurrence.ts'
import { covers } from '../../model/pause.ts'
import { restoreSchedule } from '../../schedule/restore.ts'
import type { ScheduleJson } from '../../schedule/schedule.ts'
import type { StateCounts } from '../../store/store.ts'
import type { WireJobLine, WireJobMark, WireRecentRun, WireSchedule } from '../wire.ts'
import { type Board, type Facts, factKey, workOf } from './board.ts'
import { errorLine, iso, isoOrNull } from './line.ts'

const ended: readonly OccurrenceState[] = ['completed', 'failed', 'dead', 'canceled', 'skipped', 'missed']
const live: readonly OccurrenceState[] = ['pending', 'waiting', 'running', 'retrying']
const shownRuns = 20
const mostLive = 20

function isOrphaned(record: JobRecord, { nodes }: Pick<Facts, 'nodes'>): boolean {
  const { spec, id } = record
  return isOwnJob(record) && !spec.isRetired && nodes.length > 0 && !nodes.some(({ declares }) => id in declares)
}

/** The marks that need no read of the job's own history. */
export function marksOf(record: JobRecord, facts: Facts): WireJobMark[] {
  const { tenant, name, spec, override } = record
  const key = factKey(record, facts)
  const is: Readonly<Partial<Record<WireJobMark, boolean>>> = {
    failing: facts.failing.has(key),
    late: facts.late.has(key),
    missed: facts.missed.has(key),
    paused: facts.pauses.some((pause) => covers(pause, tenant, name)),
    orphaned: isOrphaned(record, facts),
    disabled: !spec.isEnabled,
    retired: spec.isRetired,
    overridden: override !== null,
  }
  return (Object.keys(is) as WireJobMark[]).filter((mark) => is[mark])
}

/** The marks of a job's work under way. */
export function workMarks(states: StateCounts): readonly WireJobMark[] {
  return (['running', 'waiting'] as const).filter((state) => states[state] > 0)
}

export async function jobLine(board: Board, record: JobRecord, facts: Facts): Promise<WireJobLine> {
  const { id, tenant, name, version, spec, override, updatedAt } = record
  const { store } = board.env
  const own = workOf(record, facts)
  const [{ states, lastRunAt, failuresInRow }, next] = await Promise.all([store.counts(own), board.nextRun(record, facts)])
  const items = await newestEnded(board, own, states)
  const marks = marksOf(record, facts)
  if (failuresInRow > 0 && !marks.includes('failing')) marks.unshift('failing')
  marks.push(...workMarks(states))
  const pause = facts.pauses.find((one) => covers(one, tenant, name))
  const declared = facts.nodes.filter(({ declares }) => id in declares)
  const releases = declared.flatMap(({ release }) => release ?? [])
  const recent = items.toReversed().map(recentRun)
  return {
    id,
    tenant,
    name,
    definition: spec.definition,
    version,
    schedule: scheduleFacts(spec.schedule),
    tasks: spec.tasks.map((task) => task.name),
    marks: marks.length === 0 ? ['on-time'] : marks,
    enabled: spec.isEnabled,
    paused: pause !== undefined,
    pausedUntil: isoOrNull(pause?.to),
    retired: spec.isRetired,
    orphaned: isOrphaned(record, facts),
    shared: own.tenant === undefined,
    overridden: Object.keys(override ?? {}).map((field) => (field === 'isEnabled' ? 'enabled' : field)),
    release: releases.length === 0 ? null : Math.max(...releases),
    nextRun: isoOrNull(next),
    lateSince: isoOrNull(facts.late.get(factKey(record, facts))?.dueAt),
    running: states.running,
    waiting: states.waiting,
    dead: states.dead,
    pending: states.pending,
    failuresInRow,
    lastRun: isoOrNull(lastRunAt),
    recent,
    p50Ms: median(recent.filter(({ state }) => state === 'completed').flatMap(({ tookMs }) => tookMs ?? [])),
    updatedAt: iso(updatedAt),
  }
}

/** The newest ended work of a job. With little live work it is among the newest of all, which one index has in order. */
async function newestEnded(
  { env: { store } }: Board,
  own: ReturnType<typeof workOf>,
  states: StateCounts,
): Promise<readonly OccurrenceSummary[]> {
  const alive = live.reduce((sum, state) => sum + states[state], 0)
  if (alive > mostLive) return (await store.list({ ...own, states: ended, limit: shownRuns })).items
  const { items } = await store.list({ ...own, limit: shownRuns + alive })
  return items.filter(({ state }) => ended.includes(state)).slice(0, shownRuns)
}

function recentRun({ id, state, source, scheduledAt, startedAt, endedAt, error }: OccurrenceSummary): WireRecentRun {
  return {
    id,
    state,
    source,
    scheduledAt: iso(scheduledAt),
    startedAt: isoOrNull(startedAt),
    endedAt: isoOrNull(endedAt),
    tookMs: startedAt !== null && endedAt !== null ? Math.max(0, endedAt - startedAt) : null,
    error: state === 'completed' ? null : errorLine(error),
  }
}

/** A schedule as a reader wants it. Of a kind that this process does not know, only its JSON. */
export function scheduleFacts(json: ScheduleJson | null): WireSchedule | null {
  if (!json) return null
  const { kind } = json
  const text = ['text', 'expression', 'at'].map((field) => json[field]).find((value) => typeof value === 'string') ?? null
  const timezone = typeof json.timezone === 'string' ? json.timezone : null
  return { kind, text: text as string | null, words: wordsOf(json), timezone, json: { ...json } }
}

function wordsOf(json: ScheduleJson): string {
  try {
    return restoreSchedule(json).describe()
  } catch {
    return `A schedule of the kind ${json.kind}`
  }
}

function median(values: readonly number[]): number | null {
  return values.length === 0 ? null : (values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] as number)
}
