import { z } from 'zod'
import { deadCause, operationLine } from '../occurrence.ts'
import { cursor, limit, name, page, whole } from '../part.ts'
import { idParams, inTenant, operationPreview, operationRequest } from '../request.ts'
import { act, becauseOf, done, type Operation, read } from '../row.ts'

/** Dead letters, and acts over many occurrences. */
export const operationsOperations = {
  'dead.list': {
    ...read,
    path: '/dead-letters',
    summary: 'Dead letters by cause, the largest group first',
    query: inTenant.extend({ job: name.optional(), limit: limit(200).optional() }),
    output: z.object({ total: whole, items: z.array(deadCause) }),
  },
  'operations.list': {
    ...read,
    path: '/operations',
    summary: 'Backfills, replays and bulk actions, the newest first',
    query: inTenant.extend({ cursor: cursor.optional(), limit: limit(200).optional() }),
    output: page(operationLine),
  },
  'operations.get': {
    ...read,
    path: '/operations/{id}',
    summary: 'One operation and its progress',
    params: idParams,
    output: operationLine,
  },
  'operations.preview': {
    ...act,
    audited: false,
    path: '/operations/preview',
    summary: 'What an operation would do; writes nothing',
    body: operationRequest,
    output: operationPreview,
  },
  'operations.start': {
    ...act,
    dangerous: true,
    path: '/operations',
    summary: 'Start an operation over many occurrences',
    status: 202,
    body: operationRequest,
    output: z.object({ id: z.string() }),
  },
  'operations.abort': {
    ...act,
    path: '/operations/{id}/abort',
    summary: 'Stop an operation where it stands',
    params: idParams,
    body: becauseOf,
    output: done,
  },
} as const satisfies Readonly<Record<string, Operation>>
