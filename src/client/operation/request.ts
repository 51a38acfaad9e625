// Parts of requests that several operations share.
import { z } from 'zod'
import { jobMark } from './job.ts'
import { cursor, duration, instant, json, key, limit, name, reason, source, state, tenant, whole } from './part.ts'
import { settings } from './settings.ts'

export const inTenant = z.strictObject({ tenant: tenant.optional() })
export const jobParams = z.strictObject({ job: name.meta({ description: 'The name of the job' }) })
export const idParams = z.strictObject({ id: z.string().min(1).max(200) })

/** Which occurrences: the same for lists, counts, exports and operations over many. */
export const occurrenceFilter = z.strictObject({
  tenant: tenant.optional(),
  job: name.optional(),
  state: z.array(state).min(1).max(10).optional(),
  source: z.array(source).min(1).max(7).optional(),
  key: key.optional(),
  idempotencyKey: key.optional(),
  entity: key.optional(),
  cause: z.string().min(1).max(64).optional(),
  from: instant.optional().meta({ description: 'First due at or after this instant' }),
  to: instant.optional().meta({ description: 'First due before this instant' }),
})

export const occurrenceList = occurrenceFilter.extend({ cursor: cursor.optional(), limit: limit(500).optional() })

export const jobList = z.strictObject({
  tenant: tenant.optional(),
  /** A part of the name. */
  search: name.optional(),
  /** Those that need no look at the work of each job. */
  mark: jobMark.exclude(['running', 'waiting']).optional(),
  cursor: cursor.optional(),
  limit: limit(200).optional(),
})

export const when = { delay: duration.optional(), runAt: instant.optional() }
export const keys = { key: key.optional(), idempotencyKey: key.optional() }

export const enqueue = settings
  .pick({
    retry: true,
    timeout: true,
    onFailure: true,
    executionTimeout: true,
    deadLetter: true,
    concurrency: true,
    rate: true,
    startWithin: true,
    priority: true,
  })
  .extend({
    ...when,
    ...keys,
    payload: json.optional(),
    entity: key.optional(),
    refs: z.record(z.string(), json).optional(),
    onConflict: z.enum(['keep', 'reschedule', 'replace']).optional(),
  })

export const expectedVersion = z.strictObject({ 'if-match': z.string().max(30).optional() })

const many = { filter: occurrenceFilter, reason }

/** A thing to do over many occurrences, as an operation that can be watched and aborted. */
export const operationRequest = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('backfill'),
    tenant: tenant.optional(),
    job: name,
    from: instant,
    to: instant,
    mode: z.enum(['missing', 'failed', 'all']).optional(),
    concurrency: z.int().min(1).max(1000).optional(),
    reason: reason.optional(),
  }),
  z.strictObject({ kind: z.literal('replay'), ...many }),
  z.strictObject({ kind: z.literal('retry'), ...many, spread: duration.optional() }),
  z.strictObject({ kind: z.literal('discard'), ...many }),
  z.strictObject({ kind: z.literal('cancel'), ...many }),
])

export const operationPreview = z.object({
  kind: z.string(),
  /** Number of matching items, up to the cap. */
  matches: whole,
  capped: z.boolean(),
  /** How many of them would be acted on. */
  acts: whole,
  leftOut: z.array(z.object({ reason: z.string(), count: whole })),
  /** The first instants or ids that it would act on. */
  first: z.array(z.string()),
  /** Reasons not to do it now. */
  warnings: z.array(z.string()),
})

export const span = z.strictObject({ tenant: tenant.optional(), job: name.optional(), from: instant, to: instant })
