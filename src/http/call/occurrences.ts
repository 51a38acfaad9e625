import { storedKey } from '../../client/keys.ts'
import type { LogView } from '../../client/log-view.ts'
import { type OccurrenceTarget, unknownOccurrence } from '../../client/occurrence-target.ts'
import type { Occurrence } from '../../client/occurrence-view.ts'
import { causeOf } from '../../model/cause.ts'
import type { OccurrenceSummary } from '../../model/occurrence.ts'
import type { ErrorRecord } from '../../model/report.ts'
import type { OccurrenceFilter, Page } from '../../store/query.ts'
import { hasRole } from '../access/identity.ts'
import { isLate, iso, isoOrNull, wireError, wireLine } from '../board/line.ts'
import { Refusal } from '../problem.ts'
import type { WireOccurrence, WireOccurrenceFilter, WireStateCounts } from '../wire.ts'
import { by, type Call, type Calls, checkUnbounded, defined, maySee, scopeOf, tenantOf } from './call.ts'
import { exported } from './export.ts'
import { payloadView } from './payload-view.ts'

const defaultPage = 50
/** Counts over a filter stop here. */
const mostCounted = 1000
const pageSize = 500
/** Dead letters of the same cause are counted to here. */
const mostSame = 100
/** Pages that one request reads while it looks for a source. */
const mostPages = 4

/** Occurrences: lists, one with its story, and what can be done with it. */
export const occurrenceCalls: Calls<
  | 'occurrences.list'
  | 'occurrences.counts'
  | 'occurrences.export'
  | 'occurrences.get'
  | 'occurrences.find'
  | 'occurrences.cancel'
  | 'occurrences.reschedule'
  | 'occurrences.retry'
  | 'occurrences.discard'
  | 'occurrences.delete'
  | 'occurrences.prune'
  | 'occurrences.replay'
> = {
  'occurrences.list': async (call) => {
    const { limit = defaultPage, cursor, ...filter } = call.query
    const { items, cursor: next } = await listed(call, filter, limit, cursor)
    const { now } = call.desk.board
    return { items: items.map((line) => wireLine(line, now)), cursor: next }
  },
  'occurrences.counts': async (call) => counts(call),
  'occurrences.export': async (call) => {
    const { format = 'ndjson', limit = 1_000_000, ...filter } = call.query
    const { now } = call.desk.board
    return exported(format, limit, async (most, cursor) => {
      const page = await listed(call, filter, Math.min(pageSize, most), cursor)
      return { items: page.items.map((line) => wireLine(line, now)), cursor: page.cursor }
    })
  },
  'occurrences.get': async (call) => wireOccurrence(call, await found(call, call.params.id)),
  'occurrences.find': async (call) => {
    const { job, key, idempotencyKey } = call.query
    const tenant = tenantOf(call, call.query.tenant)
    if ((key === undefined) === (idempotencyKey === undefined))
      throw new Refusal('request.invalid', 'Give either key or idempotencyKey', { field: 'key' })
    const target = (key !== undefined ? { tenant, job, key } : { tenant, job, idempotencyKey }) as OccurrenceTarget
    const occurrence = await call.desk.punctual.get(target)
    if (!occurrence) throw unknownOccurrence(target)
    return wireOccurrence(call, occurrence)
  },
  'occurrences.cancel': async (call) => {
    await checkSeen(call, call.params.id)
    return { outcome: await call.desk.punctual.cancel(call.params.id, by(call)) }
  },
  'occurrences.reschedule': async (call) => {
    await checkSeen(call, call.params.id)
    await call.desk.punctual.reschedule(call.params.id, by(call))
    return { outcome: 'moved' }
  },
  'occurrences.retry': async (call) => {
    await checkSeen(call, call.params.id)
    await call.desk.punctual.retry(call.params.id, by(call))
    return { outcome: 'retrying' }
  },
  'occurrences.discard': async (call) => {
    await checkSeen(call, call.params.id)
    await call.desk.punctual.discard(call.params.id, by(call))
    return { outcome: 'discarded' }
  },
  'occurrences.delete': async (call) => {
    await checkSeen(call, call.params.id)
    await call.desk.punctual.delete(call.params.id, by(call))
    return { outcome: 'deleted' }
  },
  'occurrences.prune': async (call) => {
    checkUnbounded(call, 'It deletes records of all tenants')
    return { pruned: await call.desk.punctual.prune(by(call)) }
  },
  'occurrences.replay': async (call) => {
    await checkSeen(call, call.params.id)
    const { id, outcome, state, payloadDiffers } = await call.desk.punctual.replay(call.params.id, by(call))
    call.headers.set('Location', `${call.root}/occurrences/${id}`)
    return { id, outcome, state, differs: payloadDiffers }
  },
}

/** The filter of a request as stores take it, kept to what the caller may see. */
function storeFilter(call: Pick<Call, 'caller'>, filter: WireOccurrenceFilter): Omit<OccurrenceFilter, 'limit'> {
  const { job, state, entity, cause, from, to } = filter
  const tenant = scopeOf(call, filter.tenant)
  const { key, unique } = storedKey(defined({ key: filter.key, idempotencyKey: filter.idempotencyKey }))
  return {
    ...(tenant !== undefined && { tenant }),
    ...(job !== undefined && { job }),
    ...(state !== undefined && { states: state }),
    ...(key !== null && { key, unique }),
    ...(entity !== undefined && { entity }),
    ...(cause !== undefined && { cause }),
    ...(from !== undefined && { from: Date.parse(from) }),
    ...(to !== undefined && { to: Date.parse(to) }),
  }
}

/** No index holds the source: a page of it may be short although there are more, and the cursor tells. */
async function listed(
  call: Pick<Call, 'caller' | 'desk'>,
  filter: WireOccurrenceFilter,
  limit: number,
  cursor: string | undefined,
): Promise<Page<OccurrenceSummary>> {
  const { store } = call.desk.env
  const own = storeFilter(call, filter)
  const { source } = filter
  if (source === undefined) return store.list({ ...own, limit, ...(cursor !== undefined && { cursor }) })
  const items: OccurrenceSummary[] = []
  let place: string | null | undefined = cursor
  for (let pages = 0; pages < mostPages && items.length < limit && place !== null; pages++) {
    const page: Page<OccurrenceSummary> = await store.list({ ...own, limit, ...(place !== undefined && { cursor: place }) })
    // A page that would overflow is read again from its place.
    const matching = page.items.filter((line) => source.includes(line.source))
    if (items.length > 0 && items.length + matching.length > limit) break
    items.push(...matching)
    place = page.cursor
  }
  return { items, cursor: place ?? null }
}

async function counts(call: Call<'occurrences.counts'>): Promise<WireStateCounts> {
  const { store } = call.desk.env
  const { tenant: _, job, ...rest } = call.query
  const isPlain = Object.values(rest).every((value) => value === undefined)
  const scope = storeFilter(call, call.query)
  if (isPlain) {
    const { states } = await store.counts({
      ...(scope.tenant !== undefined && { tenant: scope.tenant }),
      ...(job !== undefined && { job }),
    })
    const all = Object.entries(states).map(([state, count]) => [state, { count, capped: false }] as const)
    return { states: Object.fromEntries(all) as WireStateCounts['states'], total: sumOf(all.map(([, one]) => one)) }
  }
  const found = new Map<string, number>()
  let cursor: string | undefined
  let isCapped = true
  for (let seen = 0; seen < mostCounted; seen += pageSize) {
    const page = await listed(call, call.query, pageSize, cursor)
    for (const { state } of page.items) found.set(state, (found.get(state) ?? 0) + 1)
    cursor = page.cursor ?? undefined
    isCapped = page.cursor !== null
    if (!isCapped) break
  }
  const names = ['pending', 'waiting', 'running', 'retrying', 'dead', 'completed', 'failed', 'canceled', 'skipped', 'missed']
  const all = names.map((state) => [state, { count: found.get(state) ?? 0, capped: isCapped }] as const)
  return { states: Object.fromEntries(all) as WireStateCounts['states'], total: sumOf(all.map(([, one]) => one)) }
}

function sumOf(counts: readonly { readonly count: number; readonly capped: boolean }[]) {
  return { count: counts.reduce((sum, { count }) => sum + count, 0), capped: counts.some(({ capped }) => capped) }
}

async function found(call: Pick<Call, 'caller' | 'desk'>, id: string): Promise<Occurrence> {
  const occurrence = await call.desk.punctual.get(id)
  if (!occurrence || !maySee(call, occurrence.tenant)) throw unknownOccurrence(id)
  return occurrence
}

/** An occurrence of another tenant does not exist for the caller. */
async function checkSeen(call: Pick<Call, 'caller' | 'desk'>, id: string): Promise<void> {
  const history = await call.desk.env.store.get({ id })
  if (!history || !maySee(call, history.record.tenant)) throw unknownOccurrence(id)
}

async function wireOccurrence(call: Pick<Call, 'caller' | 'desk'>, one: Occurrence): Promise<WireOccurrence> {
  const { punctual, env, board } = call.desk
  const mayRead = hasRole(call.caller, 'operator')
  const view = payloadView(call, one)
  const { now } = board
  const hasFailed = one.state === 'dead' || one.state === 'failed'
  const cause = hasFailed && one.error ? causeOf(one.error) : null
  const within = call.caller.tenants === null ? {} : { tenant: one.tenant }
  const [{ reasons }, { nodes }, [record], parent, children, same] = await Promise.all([
    punctual.explain(one.id),
    env.store.nodes(),
    env.store.readJobs({ tenant: one.tenant, name: one.job, limit: 1 }),
    one.parent === null ? null : env.store.get({ id: one.parent }),
    env.store.list({ tenant: one.tenant, parent: one.id, limit: 50 }),
    cause ? env.store.list({ ...within, cause, limit: mostSame + 1 }) : { items: [] },
  ])
  const nodeName = (boot: string | null) => nodes.find((node) => node.boot === boot)?.name ?? null
  const error = (given: ErrorRecord | null) => wireError(given, mayRead)
  const afters = new Map(record?.spec.tasks.map(({ name, after }) => [name, after ?? null]))
  const { id, tenant, job, key, idempotencyKey, entity, state, source, dueAt, startedAt, endedAt, turns } = one
  return {
    id,
    tenant,
    job,
    key,
    idempotencyKey,
    entity,
    state,
    late: isLate({ state, dueAt: dueAt.getTime() }, now),
    source,
    turn: turns.length,
    scheduledAt: one.scheduledAt.toISOString(),
    dueAt: dueAt.toISOString(),
    createdAt: one.createdAt.toISOString(),
    startedAt: isoOrNull(startedAt),
    endedAt: isoOrNull(endedAt),
    tookMs: startedAt && endedAt ? Math.max(0, endedAt.getTime() - startedAt.getTime()) : null,
    error: error(one.error),
    cause,
    definition: one.definition,
    version: one.version,
    refs: { ...one.refs },
    priority: one.priority,
    payload: view.payload,
    payloadBytes: one.payload === undefined || one.payload === null ? 0 : Buffer.byteLength(JSON.stringify(one.payload) ?? ''),
    redacted: view.redacted,
    result: view.result(one.result),
    node: one.node,
    nodeName: nodeName(one.node),
    reason: one.reason,
    wait: one.wait && { reason: one.wait.reason, until: isoOrNull(one.wait.until), blockers: [...one.wait.blockers] },
    replay: one.replay && { ...one.replay, tasks: one.replay.tasks && [...one.replay.tasks] },
    span: one.span && { from: one.span.from.toISOString(), to: one.span.to.toISOString(), count: one.span.count },
    failedTasks: one.failedTasks,
    progress: one.progress && { ...one.progress, at: one.progress.at.toISOString() },
    log: mayRead ? one.log.map(wireLog) : [],
    settings: one.settings && { ...one.settings },
    tasks: one.tasks.map((task) => ({
      id: task.id,
      name: task.name,
      after: afters.get(task.name) ? [...(afters.get(task.name) ?? [])] : null,
      state: task.state,
      result: view.result(task.result),
      startedAt: isoOrNull(task.startedAt),
      endedAt: isoOrNull(task.endedAt),
      attempts: task.attempts.map((attempt) => ({
        ...attempt,
        startedAt: isoOrNull(attempt.startedAt),
        endedAt: isoOrNull(attempt.endedAt),
        error: error(attempt.error),
      })),
    })),
    turns: turns.map((turn) => ({
      ...turn,
      nodeName: nodeName(turn.node),
      startedAt: isoOrNull(turn.startedAt),
      endedAt: turn.endedAt.toISOString(),
      error: error(turn.error),
    })),
    parent: parent && { id: parent.record.id, job: parent.record.job, state: parent.state },
    children: children.items.map((child) => ({ id: child.id, job: child.job, state: child.state })),
    why: reasons.map(({ code, message, details: { error: _, ...details } }) => ({ code, message, details })),
    sameCause: same.items.filter((other) => other.id !== id).length,
    updatedAt: iso(one.updatedAt.getTime()),
  }
}

function wireLog(log: LogView): WireOccurrence['log'][number] {
  return {
    ...log,
    lines: log.lines.map(({ at, fields, ...line }) => ({
      ...line,
      ...(fields && { fields: { ...fields } }),
      at: at.toISOString(),
    })),
  }
}
