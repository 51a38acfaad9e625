import { Hono } from 'hono'
import type { ExplainTarget } from '../../client/explain.ts'
import type { Punctual } from '../../client/punctual.ts'
import { PunctualError } from '../../errors.ts'
import { withoutStack } from '../../model/error-record.ts'
import type { ErrorRecord } from '../../model/report.ts'
import { readQuery } from '../query.ts'

/** Why a job, or an occurrence by its id or key, has not run, or will not. */
export function explainRoutes(punctual: Punctual): Hono {
  return new Hono().get('/explain', async (c) => {
    const { subject, id, reasons } = await punctual.explain(targetOf(readQuery(c.req.url, ['job', 'id', 'key', 'tenant'])))
    if (subject === 'store') throw new PunctualError('store.unreachable', reasons[0]?.message ?? '')
    return c.json({ subject, id, reasons: reasons.map((reason) => ({ ...reason, details: withoutStacks(reason.details) })) })
  })
}

function targetOf({ job, id, key, tenant }: { job?: string; id?: string; key?: string; tenant?: string }): ExplainTarget {
  const within = tenant === undefined ? {} : { tenant }
  if (id !== undefined && job === undefined && key === undefined) return id
  if (job !== undefined && id === undefined) return { job, ...within, ...(key !== undefined && { key }) }
  throw new PunctualError('option.invalid', 'Ask by id, by job, or by job and key', { field: 'id' })
}

/** Stacks name files of the server. */
function withoutStacks(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { error } = details
  if (typeof error !== 'object' || error === null) return details
  return { ...details, error: withoutStack(error as ErrorRecord) }
}
