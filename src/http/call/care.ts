import type { AuditFilter } from '../../client/audits.ts'
import type { GateFilter } from '../../client/gates.ts'
import { type TimersInstance, timersOverview } from '../../client/timers-overview.ts'
import type { TokenRecord } from '../../store/store.ts'
import { parseDuration } from '../../time/duration.ts'
import { hasRole } from '../access/identity.ts'
import { iso, isoOrNull } from '../board/line.ts'
import { Refusal } from '../problem.ts'
import type { WireToken } from '../wire.ts'
import { bodyTenant, by, type Calls, checkUnbounded, defined, maySee, scopeOf, tenantOf } from './call.ts'

/** Pauses of tenants and of everything, and tokens. */
export const careCalls: Calls<
  | 'audit.list'
  | 'gates.list'
  | 'gates.resolve'
  | 'pauses.list'
  | 'pauses.open'
  | 'pauses.close'
  | 'nodes.drain'
  | 'timers.get'
  | 'tokens.list'
  | 'tokens.create'
  | 'tokens.revoke'
> = {
  'pauses.list': async (call) => {
    const { all, tenant: given } = call.query
    const tenant = given === undefined && call.caller.tenants !== null ? undefined : scopeOf(call, given)
    const pauses = await call.desk.punctual.pauses({ ...(all !== undefined && { all }) })
    return {
      items: pauses
        .filter(
          (pause) => pause.tenant === null || (maySee(call, pause.tenant) && (tenant === undefined || pause.tenant === tenant)),
        )
        .map((pause) => ({ ...pause, from: pause.from.toISOString(), until: isoOrNull(pause.until) })),
    }
  },
  'audit.list': async (call) => {
    const tenant = scopeOf(call, call.query.tenant)
    const { items, cursor } = await call.desk.punctual.audit(defined({ ...call.query, tenant }) as AuditFilter)
    return {
      items: items.map((row) => ({
        ...row,
        at: row.at.toISOString(),
        before: row.before ?? null,
        after: row.after ?? null,
        refs: { ...row.refs },
        data: row.data ?? null,
      })),
      cursor,
    }
  },
  'gates.list': async (call) => {
    const tenant = scopeOf(call, call.query.tenant)
    const { items, cursor } = await call.desk.punctual.gates(defined({ ...call.query, tenant }) as GateFilter)
    const mayRead = hasRole(call.caller, 'operator')
    const { store } = call.desk.env
    const works = await Promise.all(items.map(({ occurrence }) => (occurrence === null ? null : store.get({ id: occurrence }))))
    return {
      items: items.map((gate, at) => ({
        ...{ job: works[at]?.record.job ?? null, occurrenceKey: works[at]?.record.key ?? null },
        ...{ tenant: gate.tenant, scope: gate.scope, key: gate.key, state: gate.state, occurrence: gate.occurrence },
        ...{ reason: gate.reason, tries: gate.tries, hits: gate.hits, result: mayRead ? (gate.result ?? null) : null },
        reservedAt: gate.reservedAt.toISOString(),
        endedAt: isoOrNull(gate.endedAt),
        expiresAt: isoOrNull(gate.expiresAt),
      })),
      cursor,
    }
  },
  'gates.resolve': async (call) => {
    const { scope, key, ...resolution } = by(call)
    const tenant = tenantOf(call, call.query.tenant)
    await call.desk.punctual.resolveGate({ tenant, scope, key }, resolution)
    return { outcome: 'resolved' }
  },
  'pauses.open': async (call) => {
    const { tenant, ...options } = call.body
    const target = pauseTarget(call, tenant)
    return { outcome: await call.desk.punctual.pause(target, defined({ ...options, by: call.caller.name })) }
  },
  'pauses.close': async (call) => {
    const { tenant, ...options } = by(call)
    return { outcome: await call.desk.punctual.resume(pauseTarget(call, tenant), options) }
  },
  'timers.get': async (call) => {
    const tenant = scopeOf(call, call.query.tenant)
    const found = await timersOverview(call.desk.punctual, tenant === undefined ? {} : { tenant })
    // A message that could not be read belongs to no tenant, and a broker serves all of them.
    const isOpen = call.caller.tenants === null
    return {
      ...found,
      poison: isOpen ? found.poison.map((one) => ({ ...one, at: one.at.toISOString() })) : [],
      poisonCount: isOpen ? found.poisonCount : 0,
      instances: isOpen ? found.instances.map(instanceOf) : [],
    }
  },
  'nodes.drain': async (call) => {
    checkUnbounded(call, 'A node runs work of all tenants')
    await call.desk.punctual.drainNode(call.params.node, by(call))
    return { outcome: 'draining' }
  },
  'tokens.list': async (call) => {
    const tokens = await call.desk.access.tokens.list()
    return { items: tokens.filter((token) => isWithin(token.tenants, call.caller.tenants)).map(wireToken) }
  },
  'tokens.create': async (call) => {
    const { name, role, tenants, expiresIn } = call.body
    const given = tenants ?? call.caller.tenants
    if (!isWithin(given, call.caller.tenants) || !hasRole(call.caller, role))
      throw new Refusal('access.refused', 'A token cannot be allowed more than you are', { field: 'tenants' })
    const { token, secret } = await call.desk.access.tokens.create({
      ...{ name, role, tenants: given, createdBy: call.caller.name },
      expiresInMs: expiresIn === undefined ? null : parseDuration(expiresIn, 'expiresIn'),
    })
    return { ...wireToken(token), secret }
  },
  'tokens.revoke': async (call) => {
    const { tokens } = call.desk.access
    const known = (await tokens.list()).find(({ id }) => id === call.params.id)
    if (!known || !isWithin(known.tenants, call.caller.tenants)) throw new Refusal('token.unknown', 'There is no such token')
    await tokens.revoke(known.id, call.caller.name)
    return { outcome: 'revoked' }
  },
}

function instanceOf({ broker, beatAt, ...rest }: TimersInstance) {
  return { ...rest, beatAt: beatAt.toISOString(), broker: { ...broker, warnings: [...broker.warnings] } }
}

function pauseTarget(call: Parameters<typeof bodyTenant>[0], tenant: string | undefined): { tenant: string } | undefined {
  if (tenant !== undefined) return { tenant: bodyTenant(call, tenant) }
  if (call.caller.tenants === null) return undefined
  throw new Refusal('request.invalid', 'Name one of your tenants', { field: 'tenant', allowed: call.caller.tenants })
}

function isWithin(tenants: readonly string[] | null, own: readonly string[] | null): boolean {
  return own === null || (tenants?.every((tenant) => own.includes(tenant)) ?? false)
}

function wireToken({ id, name, role, tenants, createdAt, createdBy, expiresAt }: TokenRecord): WireToken {
  return {
    id,
    name,
    role: role as WireToken['role'],
    tenants: tenants && [...tenants],
    createdAt: iso(createdAt),
    createdBy,
    expiresAt: isoOrNull(expiresAt),
  }
}
