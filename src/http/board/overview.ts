import { builtInPrefix } from '../../engine/node/registry.ts'
import type { Health } from '../../model/events.ts'
import { sumFigures } from '../../model/figure.ts'
import type { JobRecord } from '../../model/job.ts'
import type { OccurrenceHistory, TurnRecord } from '../../model/occurrence.ts'
import { covers } from '../../model/pause.ts'
import type { DueRow } from '../../store/store.ts'
import type { WireAttention, WireJobMark, WireOverview } from '../wire.ts'
import { type Board, type Facts, jobKey, within, workOf } from './board.ts'
import { deadCauses } from './dead-causes.ts'
import { marksOf } from './job-line.ts'
import { errorLine, graceMs, iso, isoOrNull, wireLine } from './line.ts'

const hourMs = 3_600_000
const shownRunning = 20
const shownNext = 30
const shownAttention = 20
const shownCauses = 10
const mostCauses = 100
const mostWaiting = 500

export async function overview(board: Board, tenant: string | undefined, health: Health): Promise<WireOverview> {
  const { store } = board.env
  const scope = tenant === undefined ? {} : { tenant }
  const facts = await board.facts(tenant)
  const { now, nodes } = facts
  const [{ states, causes: known }, { jobs, capped }, hour, running, waiting, next, causes] = await Promise.all([
    store.counts({ ...scope, causes: mostCauses }),
    board.jobs(tenant),
    store.figures({ ...scope, from: now - hourMs, to: now + 1, limit: 5000 }),
    store.list({ ...scope, states: ['running'], limit: shownRunning }),
    store.list({ ...scope, states: ['waiting'], limit: mostWaiting }),
    coming(board, tenant, facts),
    deadCauses(board, scope, { limit: shownCauses, isShort: true }),
  ])
  const marked = jobs.map((job) => marksOf(job, facts))
  const deadJobs = new Set(causes.map(({ job }) => job))
  const failing = jobs.filter((job, at) => marked[at]?.includes('failing') && !deadJobs.has(job.name)).slice(0, shownAttention)
  const having = (mark: WireJobMark) => marked.filter((marks) => marks.includes(mark)).length
  const late = [...facts.late].filter(([key]) => !key.startsWith('\n')).map(([, line]) => line)
  const [oldest] = late
  const beating = nodes.filter(({ beatAt, ttlMs }) => beatAt + ttlMs >= now)
  return {
    now: iso(now),
    health: { state: health.state, reasons: [...health.reasons] },
    counts: { ...states },
    jobs: {
      total: jobs.length,
      onTime: marked.filter((marks) => marks.every((mark) => mark === 'overridden')).length,
      late: having('late'),
      failing: having('failing'),
      missed: having('missed'),
      paused: having('paused'),
      orphaned: having('orphaned'),
      disabled: having('disabled'),
      overridden: having('overridden'),
      capped,
    },
    late: {
      jobs: late.length,
      graceMs,
      oldest: oldest ? { tenant: oldest.tenant, name: oldest.job, dueAt: iso(oldest.dueAt), id: oldest.id } : null,
    },
    failed: { lastHour: sumFigures(hour.map(({ figure }) => figure)).failed ?? 0, dead: states.dead, causes: known.length },
    running: {
      count: states.running,
      slots: beating.reduce((sum, { concurrency }) => sum + concurrency, 0),
      nodes: nodes.length,
      beating: beating.length,
      items: await runningLines(board, running.items, jobs, now),
    },
    waiting: {
      count: states.waiting,
      by: await waitReasons(
        board,
        waiting.items.slice(0, 50).map(({ id }) => id),
      ),
    },
    next,
    attention: attention(
      facts,
      late,
      await missedReasons(board, facts),
      causes,
      await Promise.all(failing.map((job) => failingItem(board, job, facts))),
      jobs.filter((_, at) => marked[at]?.includes('orphaned')),
    ),
    paused: facts.pauses.some((pause) => covers(pause, tenant ?? '', '')),
  }
}

async function runningLines(
  board: Board,
  items: Awaited<ReturnType<Board['env']['store']['list']>>['items'],
  jobs: readonly JobRecord[],
  now: number,
) {
  // A job of all tenants has its record in the default one.
  const taskCounts = new Map(jobs.map(({ name, spec }) => [name, spec.tasks.length]))
  return Promise.all(
    items.map(async (line) => {
      const history = await board.env.store.get({ id: line.id })
      const finished = new Set(history?.attempts.filter(({ state }) => state === 'succeeded').map(({ task }) => task))
      return {
        ...wireLine(line, now),
        startedAt: isoOrNull(history?.runningSince ?? line.startedAt),
        node: history?.node ?? null,
        progress: history?.progress?.done ?? null,
        tasksDone: finished.size,
        tasks: Math.max(finished.size, taskCounts.get(line.job) ?? 0),
      }
    }),
  )
}

async function waitReasons(board: Board, ids: readonly string[]): Promise<Record<string, number>> {
  const by: Record<string, number> = {}
  for (const history of await Promise.all(ids.map((id) => board.env.store.get({ id }))))
    if (history?.wait) by[history.wait.reason] = (by[history.wait.reason] ?? 0) + 1
  return by
}

/** Why instants were missed, of the occurrences that attention names. */
async function missedReasons(board: Board, { missed }: Facts): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set([...missed.values()].slice(0, shownAttention).map(({ id }) => id))]
  const histories = await Promise.all(ids.map((id) => board.env.store.get({ id })))
  return new Map(histories.flatMap((one) => (one?.turns.length ? [[one.record.id, missedWords(one)]] : [])))
}

function missedWords({ record: { scheduledAt }, turns }: OccurrenceHistory): string {
  const { reason, endedAt } = turns.at(-1) as TurnRecord
  if (reason !== 'downtime') return reason ?? 'it did not start'
  return `no node ran from ${iso(scheduledAt)} to ${iso(endedAt)}, and its recovery strategy does not run it later`
}

/** The soonest: planned and enqueued work, and the next instants of schedules. */
async function coming(board: Board, tenant: string | undefined, { now, pauses }: Facts): Promise<WireOverview['next']> {
  const { store } = board.env
  const scope = tenant === undefined ? {} : { tenant }
  const [dues, { jobs }] = await Promise.all([store.listDue({ ...scope, from: now, limit: shownNext }), board.jobs(tenant)])
  const soonest = jobs
    .filter(({ nextAt, spec }) => nextAt !== null && spec.isEnabled)
    .filter(
      ({ tenant: of, name, nextAt }) =>
        !within(
          pauses.filter((pause) => covers(pause, of, name)),
          nextAt,
        ),
    )
    .toSorted((a, b) => (a.nextAt as number) - (b.nextAt as number))
    .slice(0, shownNext)
  const instants = soonest.map(({ tenant: of, name, nextAt }) => ({
    tenant: of,
    job: name,
    at: nextAt as number,
    id: null,
    key: null,
  }))
  const planned = dues
    .filter(({ job }) => !job.startsWith(builtInPrefix))
    .map(({ tenant: of, job, dueAt, id, key }) => ({ tenant: of, job, at: dueAt, id, key }))
  const known = new Set(planned.map(({ tenant: of, job, at }) => `${jobKey(of, job)}\n${at}`))
  return [...planned, ...instants.filter(({ tenant: of, job, at }) => at > now && !known.has(`${jobKey(of, job)}\n${at}`))]
    .sort((a, b) => a.at - b.at)
    .slice(0, shownNext)
    .map((one) => ({ ...one, at: iso(one.at) }))
}

const none = {
  task: null,
  cause: null,
  capped: false,
  tenants: [],
  firstAt: null,
  lastAt: null,
  sample: null,
  code: null,
  failing: false,
  why: null,
}

/** A job that fails without dead letters: scheduled work ends failed. */
async function failingItem({ env: { store } }: Board, record: JobRecord, facts: Facts): Promise<WireAttention> {
  const own = workOf(record, facts)
  const [{ failuresInRow }, { items }] = await Promise.all([
    store.counts(own),
    store.list({ ...own, states: ['failed', 'dead'], limit: 1 }),
  ])
  const [last] = items
  return {
    ...none,
    ...{ kind: 'failing', tenant: record.tenant, job: record.name, failing: true, count: Math.max(1, failuresInRow) },
    label: errorLine(last?.error ?? null) ?? last?.reason ?? 'failed',
    ...{ lastAt: isoOrNull(last?.endedAt), sample: last?.id ?? null, code: last?.error?.code ?? null },
  }
}

function attention(
  facts: Facts,
  lines: readonly DueRow[],
  reasons: ReadonlyMap<string, string>,
  causes: Awaited<ReturnType<typeof deadCauses>>,
  failing: readonly WireAttention[],
  orphans: readonly { readonly tenant: string; readonly name: string }[],
): WireAttention[] {
  const dead = causes.map(({ cause, label, job, task, count, seen, tenants, firstAt, lastAt, sample }) => ({
    ...none,
    kind: 'dead' as const,
    ...{ tenant: tenants.length === 1 ? (tenants[0]?.tenant ?? null) : null, job, task, cause, label, count, tenants },
    ...{ capped: seen < count, firstAt, lastAt, sample: sample?.id ?? null, code: sample?.error?.code ?? null },
    failing: facts.failing.has(jobKey(facts.tenant ?? '', job)),
  }))
  const late = lines.map(({ tenant, job, dueAt, id }) => ({
    ...none,
    kind: facts.unserved.includes(job) ? ('unserved' as const) : ('late' as const),
    ...{ tenant, job, label: `${job} is late`, count: 1, firstAt: iso(dueAt), sample: id },
    why: facts.unserved.includes(job) ? 'no live node has all its handlers' : null,
  }))
  const missed = [...facts.missed]
    .filter(([key]) => !key.startsWith('\n'))
    .map(([key, { id, at, count }]) => {
      const [tenant = '', job = ''] = key.split('\n')
      return {
        ...none,
        ...{ kind: 'missed' as const, tenant, job, label: `${job} missed an instant`, count },
        ...{ firstAt: iso(at), lastAt: iso(at), sample: id, why: reasons.get(id) ?? null },
      }
    })
  const orphaned = orphans.map(({ tenant, name }) => ({
    ...none,
    ...{
      kind: 'orphaned' as const,
      tenant,
      job: name,
      label: `${name} is orphaned`,
      count: 1,
      why: 'no live node declares it; its instants still come due',
    },
  }))
  const isFailing = (item: WireAttention) => item.failing
  const past = dead.filter((item) => !isFailing(item))
  return [...dead.filter(isFailing), ...failing, ...late, ...missed, ...past, ...orphaned].slice(0, shownAttention)
}
