import { PunctualError } from '../errors.ts'
import { type OccurrenceState, occurrenceStates } from '../model/lifecycle.ts'
import { checkKey, checkName, checkNote, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import type { OccurrenceFilter } from '../store/query.ts'
import { type InstantInput, parseEnd } from '../time/instant.ts'
import { type Job, nameOf } from './job-name.ts'
import { type KeyOptions, storedKey } from './keys.ts'

/** Which occurrences to list. */
export interface ListFilter extends KeyOptions {
  tenant?: string
  job?: Job
  state?: OccurrenceState | readonly OccurrenceState[]
  entity?: string
  /** Created by a handler of the occurrence with this id: `ctx.enqueue`. */
  parent?: string
  /** Only dead work that died of this cause, as `deadLetters({ groupBy: 'cause' })` returns it. */
  cause?: string
  /** First due at or after this instant. */
  from?: InstantInput
  /** First due before this instant. */
  to?: InstantInput
  /** Default 50, at most 500. */
  limit?: number
  /** From the page before. */
  cursor?: string
}

const filterNames = [
  'tenant',
  'job',
  'state',
  'key',
  'idempotencyKey',
  'entity',
  'parent',
  'cause',
  'from',
  'to',
  'limit',
  'cursor',
]

export function parseFilter(filter: ListFilter): OccurrenceFilter {
  checkOptions(filter, filterNames, 'list')
  const { tenant, job, state, entity, parent, cause, from, to, limit = 50, cursor } = filter
  const states = state === undefined ? undefined : typeof state === 'string' ? [state] : state
  if (states !== undefined && !Array.isArray(states)) checkOneOf(states, 'state', occurrenceStates)
  for (const one of states ?? []) checkOneOf(one, 'state', occurrenceStates)
  if (cause !== undefined && states?.some((one) => one !== 'dead'))
    throw new PunctualError('option.invalid', "cause is only of dead work: leave state out, or make it 'dead'", {
      field: 'cause',
    })
  const { key, unique } = storedKey(filter)
  return {
    limit: checkWhole(limit, 'limit', 1, 500),
    ...(tenant !== undefined && { tenant: checkName(tenant, 'tenant') }),
    ...(job !== undefined && { job: nameOf(job) }),
    ...(states !== undefined && { states }),
    ...(key !== null && { key, unique }),
    ...(entity !== undefined && { entity: checkKey(entity, 'entity') }),
    ...(parent !== undefined && { parent: checkKey(parent, 'parent') }),
    ...(cause !== undefined && { cause: checkNote(cause, 'cause') }),
    ...(from !== undefined && { from: parseEnd(from, 'from') }),
    ...(to !== undefined && { to: parseEnd(to, 'to') }),
    ...(cursor !== undefined && { cursor: checkNote(cursor, 'cursor') }),
  }
}

/** For operations over many: a value that is missing by mistake must not widen the filter to all work. */
export function checkDefined(filter: ListFilter, call: string): void {
  const field = Object.keys(filter).find((name) => filter[name as keyof ListFilter] === undefined)
  if (field === undefined) return
  const message = `The filter of ${call} has ${field}, but it is undefined; leave it out, or give a value`
  throw new PunctualError('option.invalid', message, { field })
}
