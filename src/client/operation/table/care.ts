import { z } from 'zod'
import { gateStates } from '../../../store/messages/gate.ts'
import { pause } from '../job.ts'
import { cursor, duration, instant, json, key, limit, name, page, reason, tenant } from '../part.ts'
import { inTenant } from '../request.ts'
import { act, done, manage, type Operation, read } from '../row.ts'
import { auditRow, gateKey, range } from '../server.ts'

/** Pauses, effects that happen once, the audit, and ranges without records. */
export const careOperations = {
  'pauses.list': {
    ...read,
    path: '/pauses',
    summary: 'The pauses in force',
    query: inTenant.extend({ all: z.boolean().optional() }),
    output: z.object({ items: z.array(pause) }),
  },
  'pauses.open': {
    ...manage,
    dangerous: true,
    path: '/pauses',
    summary: 'Pause a tenant, or everything',
    body: z.strictObject({
      tenant: tenant.optional(),
      reason: reason.optional(),
      until: instant.optional(),
      for: duration.optional(),
    }),
    output: done,
  },
  'pauses.close': {
    ...manage,
    path: '/pauses/close',
    summary: 'End the pause of a tenant, or of everything',
    body: z.strictObject({ tenant: tenant.optional(), reason: reason.optional() }),
    output: done,
  },
  'gates.list': {
    ...read,
    path: '/gates',
    summary: 'Keys of effects that happen once',
    query: inTenant.extend({
      scope: key.optional(),
      key: key.optional(),
      state: z.enum(gateStates).optional(),
      cursor: cursor.optional(),
      limit: limit(500).optional(),
    }),
    output: page(gateKey),
  },
  'gates.resolve': {
    ...act,
    dangerous: true,
    path: '/gates/resolve',
    summary: 'Record whether an effect of unknown outcome has happened',
    query: inTenant,
    body: z.strictObject({ scope: key, key, happened: z.boolean(), result: json.optional(), reason: reason.optional() }),
    output: done,
  },
  'audit.list': {
    ...read,
    role: 'operator',
    path: '/audit',
    summary: 'Who changed what, and business events, the newest first',
    query: inTenant.extend({
      job: name.optional(),
      target: key.optional(),
      actor: key.optional(),
      action: z.string().min(1).max(40).optional(),
      from: instant.optional(),
      to: instant.optional(),
      cursor: cursor.optional(),
      limit: limit(500).optional(),
    }),
    output: page(auditRow),
  },
  'ranges.list': {
    ...read,
    path: '/ranges',
    summary: 'Passed-over instants that have no single records',
    query: inTenant.extend({ job: name.optional(), limit: limit(1000).optional() }),
    output: z.object({ items: z.array(range) }),
  },
} as const satisfies Readonly<Record<string, Operation>>
