import { Hono } from 'hono'
import type { ExplainTarget } from '../../client/explain.ts'
import type { KeyOptions } from '../../client/keys.ts'
import { isKeyed } from '../../client/occurrence-target.ts'
import type { Punctual } from '../../client/punctual.ts'
import { PunctualError } from '../../errors.ts'
import { withoutStack } from '../../model/error-record.ts'
import type { ErrorRecord } from '../../model/report.ts'
import { readQuery } from '../query.ts'

/** Why a job, or an occurrence by its id or key, has not run, or will not. */
export function explainRoutes(punctual: Punctual): Hono {
  return new Hono().get('/explain', async (c) => {
    const { subject, id, reasons } = await punctual.explain(
      targetOf(readQuery(c.req.url, ['job', 'id', 'key', 'idempotencyKey', 'tenant'])),
    )
    if (subject === 'store') throw new PunctualError('store.unreachable', reasons[0]?.message ?? '')
    return c.json({ subject, id, reasons: reasons.map((reason) => ({ ...reason, details: withoutStacks(reason.details) })) })
  })
}

function targetOf({ job, id, tenant, ...keys }: KeyOptions & { job?: string; id?: string; tenant?: string }): ExplainTarget {
  const within = tenant === undefined ? {} : { tenant }
  if (id !== undefined && job === undefined && !isKeyed(keys)) return id
  if (job !== undefined && id === undefined) return { job, ...within, ...keys } as ExplainTarget
  throw new PunctualError('option.invalid', 'Ask by id, by job, or by job and key or idempotencyKey', { field: 'id' })
}

/** Stacks name files of the server. */
function withoutStacks(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { error } = details
  if (typeof error !== 'object' || error === null) return details
  return { ...details, error: withoutStack(error as ErrorRecord) }
}
