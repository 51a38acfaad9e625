import type { AnyDefinition } from '../model/definition.ts'
import { type OccurrenceState, occurrenceStates } from '../model/lifecycle.ts'
import { checkKey, checkName, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import type { OccurrenceFilter } from '../store/query.ts'
import { type InstantInput, parseInstant } from '../time/instant.ts'
import { nameOf } from './job-name.ts'
import { type KeyOptions, storedKey } from './keys.ts'

/** Which occurrences to list. */
export interface ListFilter extends KeyOptions {
  tenant?: string
  job?: AnyDefinition | string
  state?: OccurrenceState | readonly OccurrenceState[]
  entity?: string
  /** First due at or after this instant. */
  from?: InstantInput
  /** First due before this instant. */
  to?: InstantInput
  /** Default 50, at most 500. */
  limit?: number
  /** From the page before. */
  cursor?: string
}

const filterNames = ['tenant', 'job', 'state', 'key', 'idempotencyKey', 'entity', 'from', 'to', 'limit', 'cursor']

export function parseFilter(filter: ListFilter): OccurrenceFilter {
  checkOptions(filter, filterNames, 'list')
  const { tenant, job, state, entity, from, to, limit = 50, cursor } = filter
  const states = state === undefined ? undefined : typeof state === 'string' ? [state] : state
  if (states !== undefined && !Array.isArray(states)) checkOneOf(states, 'state', occurrenceStates)
  for (const one of states ?? []) checkOneOf(one, 'state', occurrenceStates)
  const { key, unique } = storedKey(filter)
  return {
    limit: checkWhole(limit, 'limit', 1, 500),
    ...(tenant !== undefined && { tenant: checkName(tenant, 'tenant') }),
    ...(job !== undefined && { job: nameOf(job) }),
    ...(states !== undefined && { states }),
    ...(key !== null && { key, unique }),
    ...(entity !== undefined && { entity: checkKey(entity, 'entity') }),
    ...(from !== undefined && { from: parseInstant(from, 'from') }),
    ...(to !== undefined && { to: parseInstant(to, 'to') }),
    ...(cursor !== undefined && { cursor: checkKey(cursor, 'cursor') }),
  }
}
