import { z } from 'zod'
import { durationMs, instant, json, whole } from './part.ts'

export const roles = ['viewer', 'operator', 'admin'] as const
/** The rights of a credential: `viewer` reads without payloads, `operator` acts on work, `admin` does everything. */
export type Role = (typeof roles)[number]

export const session = z
  .object({
    name: z.string(),
    role: z.enum(roles),
    /** The tenants it may see; null for all. */
    tenants: z.array(z.string()).nullable(),
    /** How it came in. `open`: the server listens on loopback without authentication. */
    via: z.enum(['open', 'token', 'session', 'host', 'header']),
    expiresAt: instant.nullable(),
    readOnly: z.boolean(),
    /** The operations that it may call, by name. */
    may: z.array(z.string()),
  })
  .meta({ id: 'Session' })

export const server = z
  .object({
    now: instant,
    version: z.string(),
    /** A label of this installation, such as `production eu-1`; null where none is set. */
    label: z.string().nullable(),
    health: z.object({ state: z.enum(['ok', 'degraded', 'stopped']), reasons: z.array(z.string()) }),
    store: z.object({ name: z.string(), latencyMs: durationMs }),
    nodes: whole,
    beating: whole,
    jobs: whole,
    dead: whole,
    /** Operations that are under way. */
    operations: whole,
    readOnly: z.boolean(),
    timezone: z.string(),
  })
  .meta({ id: 'Server' })

const node = z
  .object({
    boot: z.string(),
    name: z.string(),
    pid: whole,
    version: z.string(),
    release: whole.nullable(),
    timezone: z.string(),
    startedAt: instant,
    beatAt: instant,
    /** Whether its last beat is younger than its ttl. */
    beating: z.boolean(),
    running: whole,
    concurrency: whole,
    draining: z.boolean(),
    definitions: z.array(z.string()),
    declares: whole,
  })
  .meta({ id: 'Node' })

export const nodes = z.object({
  now: instant,
  items: z.array(node),
  /** Definitions of due work that no live node can run. */
  unserved: z.array(z.string()),
})

const timersSide = z.object({ isOk: z.boolean(), reason: z.string().nullable() })

export const timers = z
  .object({
    /** Timers by state. */
    pending: whole,
    fired: whole,
    canceled: whole,
    dead: whole,
    /** Messages that could not be carried out, the newest 50; `id` is an occurrence of `punctual/poison`. Empty for callers with named tenants. */
    poison: z.array(z.object({ id: z.string(), at: instant, reason: z.string().nullable() })),
    poisonCount: whole,
    /** The processes that run a timer service, by their last beat. A side that does not run there is null. */
    instances: z.array(
      z.object({
        node: z.string(),
        boot: z.string(),
        beatAt: instant,
        isBeating: z.boolean(),
        broker: timersSide.extend({ name: z.string(), version: z.string().nullable(), warnings: z.array(z.string()) }),
        commands: timersSide.nullable(),
        firing: timersSide.nullable(),
      }),
    ),
  })
  .meta({ id: 'Timers' })

export const auditRow = z
  .object({
    seq: whole,
    at: instant,
    actor: z.string(),
    action: z.string(),
    tenant: z.string().nullable(),
    job: z.string().nullable(),
    target: z.string(),
    before: json,
    after: json,
    reason: z.string().nullable(),
    /** Of a business event: its name, the records it is about, and its data. */
    event: z.string().nullable(),
    refs: z.record(z.string(), json),
    data: json,
  })
  .meta({ id: 'AuditRow' })

export const gateKey = z
  .object({
    tenant: z.string(),
    scope: z.string(),
    key: z.string(),
    state: z.string(),
    /** The occurrence that reserved the key last, and its job and key as long as it is on record. */
    occurrence: z.string().nullable(),
    job: z.string().nullable(),
    occurrenceKey: z.string().nullable(),
    reservedAt: instant,
    endedAt: instant.nullable(),
    /** When the outcome is forgotten. */
    expiresAt: instant.nullable(),
    /** The recorded outcome; null for viewers. */
    result: json,
    reason: z.string().nullable(),
    tries: whole,
    hits: whole,
  })
  .meta({ id: 'GateKey' })

export const tenantLine = z.object({ name: z.string(), jobs: whole, paused: z.boolean(), counts: z.record(z.string(), whole) })

export const token = z
  .object({
    id: z.string(),
    name: z.string(),
    role: z.enum(roles),
    tenants: z.array(z.string()).nullable(),
    createdAt: instant,
    createdBy: z.string().nullable(),
    expiresAt: instant.nullable(),
  })
  .meta({ id: 'Token' })

/** The secret is in this answer and nowhere else. */
export const newToken = token.extend({ secret: z.string() })

export const range = z.object({
  tenant: z.string(),
  job: z.string(),
  state: z.enum(['missed', 'skipped']),
  reason: z.string(),
  from: instant,
  to: instant,
  count: whole,
})

/** An error, as every route answers it (RFC 9457). */
export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    /** One of the codes in docs/reference/errors.md, or of HTTP itself. */
    code: z.string(),
    detail: z.string(),
    /** Finds the entry in the log of the server. */
    instance: z.string().optional(),
    details: z.record(z.string(), json).optional(),
  })
  .meta({ id: 'Problem' })
