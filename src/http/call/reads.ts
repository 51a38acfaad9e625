import { unknownOccurrence } from '../../client/occurrence-target.ts'
import { operationNames, operations } from '../../client/operation.ts'
import { version as ownVersion } from '../../engine/node/version.ts'
import { hasRole } from '../access/identity.ts'
import { calendar, calendarCell } from '../board/calendar.ts'
import { deadCauses } from '../board/dead-causes.ts'
import { figures, type Span } from '../board/figures.ts'
import { iso, isoOrNull } from '../board/line.ts'
import { overview } from '../board/overview.ts'
import { timeline } from '../board/timeline.ts'
import { Refusal } from '../problem.ts'
import type { WireSession } from '../wire.ts'
import { type Call, type Calls, maySee, scopeOf } from './call.ts'
import { builtInJobs } from './operations.ts'

const mostSpanMs = 400 * 86_400_000

/** Reads for the pages, and the session. */
export const readCalls: Calls<
  | 'session.get'
  | 'server.get'
  | 'overview.get'
  | 'timeline.get'
  | 'figures.get'
  | 'calendar.get'
  | 'calendar.cell'
  | 'nodes.list'
  | 'tenants.list'
  | 'dead.list'
  | 'ranges.list'
  | 'explain.get'
> = {
  'session.get': async (call) => sessionOf(call),
  'server.get': async ({ desk, caller }) => {
    const { store, clock, options } = desk.env
    const since = clock.mono()
    const { now, nodes } = await store.nodes()
    const latencyMs = Math.round((clock.mono() - since) * 10) / 10
    const [only] = caller.tenants ?? []
    const scope = caller.tenants === null ? {} : { tenant: only ?? '' }
    const [{ states }, { jobs }, underWay] = await Promise.all([
      store.counts(scope),
      desk.board.jobs(scope.tenant),
      Promise.all(
        builtInJobs.map((job) => store.list({ ...scope, job, states: ['pending', 'running', 'retrying'], limit: 100 })),
      ),
    ])
    return {
      now: iso(now),
      version: ownVersion,
      label: desk.label,
      health: { state: desk.punctual.health.state, reasons: [...desk.punctual.health.reasons] },
      store: { name: store.name, latencyMs },
      nodes: nodes.length,
      beating: nodes.filter(({ beatAt, ttlMs }) => beatAt + ttlMs >= now).length,
      jobs: jobs.length,
      dead: states.dead,
      operations: underWay.reduce((sum, { items }) => sum + items.length, 0),
      readOnly: desk.isReadOnly,
      timezone: options.timezone,
    }
  },
  'overview.get': async (call) => {
    const tenant = scopeOf(call, call.query.tenant)
    const { board, punctual } = call.desk
    return board.share(JSON.stringify(['overview', tenant]), () => overview(board, tenant, punctual.health))
  },
  'timeline.get': async (call) => timeline(call.desk.board, spanOf(call, call.query), call.query.jobs),
  'figures.get': async (call) => figures(call.desk.board, spanOf(call, call.query), call.query.step),
  'calendar.get': async (call) =>
    calendar(call.desk.board, spanOf(call, call.query, 62), call.query.timezone ?? call.desk.env.options.timezone),
  'calendar.cell': async (call) => calendarCell(call.desk.board, spanOf(call, call.query, 2)),
  'nodes.list': async ({ desk, caller }) => {
    const { now, nodes, unserved } = await desk.env.store.nodes()
    const known = await desk.punctual.nodes()
    return {
      now: iso(now),
      items: nodes.map((node) => ({
        boot: node.boot,
        name: node.name,
        pid: node.pid,
        version: node.version,
        release: node.release,
        timezone: node.tz,
        startedAt: iso(node.startedAt),
        beatAt: iso(node.beatAt),
        beating: node.beatAt + node.ttlMs >= now,
        running: node.running,
        concurrency: node.concurrency,
        draining: node.isDraining,
        definitions: caller.tenants === null ? [...(known.find(({ boot }) => boot === node.boot)?.kinds ?? [])] : [],
        declares: Object.keys(node.declares).length,
      })),
      unserved: caller.tenants === null ? unserved.map((kind) => kind.split('\t', 1)[0] as string) : [],
    }
  },
  'tenants.list': async (call) => {
    const { board, env } = call.desk
    const [{ jobs, capped }, known] = await Promise.all([board.jobs(undefined), board.tenants()])
    const names = (call.caller.tenants ?? [...known.keys()]).toSorted()
    const { pauses } = await board.facts(undefined)
    const items = await Promise.all(
      names.slice(0, 200).map(async (name) => ({
        name,
        jobs: jobs.filter(({ tenant }) => tenant === name).length,
        paused: pauses.some(({ tenant, job }) => job === null && (tenant === null || tenant === name)),
        counts: { ...(known.get(name) ?? (await env.store.counts({ tenant: name })).states) },
      })),
    )
    return { items, capped: capped || names.length > 200 }
  },
  'dead.list': async (call) => {
    const { job, limit = 50 } = call.query
    const tenant = scopeOf(call, call.query.tenant)
    const scope = { ...(tenant !== undefined && { tenant }), ...(job !== undefined && { job }) }
    const { board, env } = call.desk
    const hasStacks = hasRole(call.caller, 'operator')
    const [items, { states }] = await Promise.all([deadCauses(board, scope, { limit, hasStacks }), env.store.counts(scope)])
    return { total: states.dead, items }
  },
  'ranges.list': async (call) => {
    const tenant = scopeOf(call, call.query.tenant)
    const { job, limit } = call.query
    const ranges = await call.desk.punctual.ranges({
      ...(tenant !== undefined && { tenant }),
      ...(job !== undefined && { job }),
      ...(limit !== undefined && { limit }),
    })
    return { items: ranges.map((range) => ({ ...range, from: range.from.toISOString(), to: range.to.toISOString() })) }
  },
  'explain.get': async (call) => {
    const { id, job, key, idempotencyKey } = call.query
    const tenant = scopeOf(call, call.query.tenant) ?? 'default'
    if ((id === undefined) === (job === undefined))
      throw new Refusal('request.invalid', 'Name what to explain: id of an occurrence, or job, with or without key', {
        field: 'job',
      })
    if (id !== undefined) {
      const history = await call.desk.env.store.get({ id })
      if (!history || !maySee(call, history.record.tenant)) throw unknownOccurrence(id)
    }
    const target =
      id ??
      (key !== undefined
        ? { tenant, job: job as string, key }
        : idempotencyKey !== undefined
          ? { tenant, job: job as string, idempotencyKey }
          : { tenant, job: job as string })
    return explained(call, target)
  },
}

async function explained(call: Call, target: Parameters<Call['desk']['punctual']['explain']>[0]) {
  const { subject, id, reasons } = await call.desk.punctual.explain(target)
  if (subject === 'store') throw new Refusal('request.failed', 'The store does not answer; try again')
  return {
    subject,
    id,
    reasons: reasons.map(({ code, message, details }) => ({ code, message, details: withoutError(details) })),
  }
}

function withoutError(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { error: _, ...rest } = details
  return rest
}

export function sessionOf({ caller, desk }: Pick<Call, 'caller' | 'desk'>): WireSession {
  const { name, role, tenants, via, expiresAt } = caller
  const isAllowed = (operation: (typeof operationNames)[number]) => {
    const { role: needed, method } = operations[operation]
    if (needed === 'anyone') return true
    return hasRole(caller, needed) && (!desk.isReadOnly || method === 'GET' || operation === 'schedules.preview')
  }
  return {
    name,
    role,
    tenants: tenants && [...tenants],
    via,
    expiresAt: isoOrNull(expiresAt),
    readOnly: desk.isReadOnly,
    may: operationNames.filter(isAllowed),
  }
}

function spanOf(
  call: Pick<Call, 'caller'>,
  query: { tenant?: string | undefined; job?: string | undefined; from: string; to: string },
  days = 400,
): Span {
  const [from, to] = [Date.parse(query.from), Date.parse(query.to)]
  const most = Math.min(mostSpanMs, days * 86_400_000)
  if (!(from < to) || to - from > most)
    throw new Refusal('request.invalid', `to must follow from, by at most ${days} days`, { field: 'to', most: `${days} days` })
  return { tenant: scopeOf(call, query.tenant), job: query.job, from, to }
}
