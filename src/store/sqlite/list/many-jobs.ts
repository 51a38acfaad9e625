// Lists over so many jobs that a look into each would take too long: along indexes over all jobs, and among the newest occurrences.

import type { OccurrenceState } from '../../../model/lifecycle.ts'
import type { OccurrenceFilter } from '../../query.ts'
import { having } from '../../rules/having.ts'
import { whereOf } from '../../rules/sql/conditions.ts'
import { running } from '../claim/claim-row.ts'
import type { Source } from '../connection/merge.ts'
import type { CountedState } from '../schema/tables.ts'
import { type Origin, runningSource, type Tables } from './tables.ts'

type Condition = Pick<Origin, 'where' | 'values'>

/** In the order of refs, whatever the condition. */
const all: Origin = { from: 'punctual_occurrence s NOT INDEXED', where: '1', values: [] }

/** Finds the work of one key or entity, whatever its jobs. */
export function named({ key, unique, entity }: OccurrenceFilter): Origin {
  const ofKind = unique === undefined ? '' : ` AND s.live = ${unique === 'live' ? 1 : 0}`
  if (key === undefined)
    return {
      from: 'punctual_occurrence s INDEXED BY punctual_occurrence_entity',
      where: 's.entity = ?',
      values: [entity as string],
    }
  return {
    from: 'punctual_occurrence s INDEXED BY punctual_occurrence_key',
    where: `s.key = ?${ofKind}${entity === undefined ? '' : ' AND +s.entity = ?'}`,
    values: entity === undefined ? [key] : [key, entity],
  }
}

/** The dead of a cause, of all jobs or those of a tenant. */
export function ofCause({ cause = '', tenant }: OccurrenceFilter): Origin {
  if (tenant === undefined)
    return { from: 'punctual_dead s INDEXED BY punctual_dead_cause', where: 's.cause = ?', values: [cause] }
  const from = 'punctual_dead s INDEXED BY punctual_dead_tenant'
  return { from, where: 's.tenant = ? AND s.cause = ?', values: [tenant, cause] }
}

/** A frequent key or entity is found among the newest; the few rows of a rare one are sorted. */
export function namedOfMany(reader: Tables, filter: OccurrenceFilter): Source<number>[] {
  const origin = both(both(named(filter), askedOf(filter)), standing(reader, filter))
  return [reader.walk(all, origin, () => [reader.source(origin)])]
}

/** The states or the cause of a filter, as a condition on a row. */
function standing({ tx }: Tables, { states, cause }: OccurrenceFilter): Condition {
  if (cause !== undefined) return { where: `${isIn('dead', 'cause = ?')}`, values: [cause] }
  if (!states) return { where: '1', values: [] }
  const isRunning = states.includes('running')
  const conditions = states.flatMap((state) => (state === 'running' ? [] : [hasState(state)]))
  if (isRunning) conditions.push('s.ref IN (SELECT value FROM json_each(?))')
  const values = isRunning ? [JSON.stringify(running(tx).map(({ ref }) => ref))] : []
  return { where: `(${conditions.join(' OR ')})`, values }
}

function hasState(state: Exclude<OccurrenceState, 'running'>): string {
  switch (state) {
    case 'pending':
    case 'retrying':
      return `(${['ready', 'arrival'].map((table) => isIn(table, `retrying = ${state === 'retrying' ? 1 : 0}`)).join(' OR ')})`
    case 'waiting':
      return `(${isIn('waiting')} OR ${isIn('aside')})`
    case 'dead':
      return isIn('dead')
    default:
      return isIn('turn', `end = '${state}'`)
  }
}

/** Whether a table of the store has the row. */
function isIn(table: string, where = '1'): string {
  return `EXISTS (SELECT 1 FROM punctual_${table} i WHERE i.series = s.series AND i.ref = s.ref AND ${where})`
}

type Lanes = (state: CountedState | undefined) => readonly Source<number>[]

/** `lanes`: of each job of the filter that has work in a state. */
export function ofManyJobs(reader: Tables, filter: OccurrenceFilter, lanes: Lanes): Source<number>[] {
  const { states } = filter
  const asked = askedOf(filter)
  if (!states) return [reader.walk(all, asked, () => lanes(undefined))]
  return [...new Set(states)].map((state) => inState(reader, filter, state, lanes))
}

function inState(reader: Tables, filter: OccurrenceFilter, state: OccurrenceState, lanes: Lanes): Source<number> {
  const asked = askedOf(filter)
  const amongNewest = (of: Exclude<OccurrenceState, 'running'>, rest: () => readonly Source<number>[]) =>
    reader.walk(all, both({ ...all, where: hasState(of) }, asked), rest)
  const tables = (names: readonly string[], where: string) =>
    names.map((name) => reader.source(both({ from: `punctual_${name} s`, where, values: [] }, asked)))
  switch (state) {
    case 'running':
      return runningSource(reader, running(reader.tx).filter(isAsked(reader, filter)), filter)
    case 'pending':
    case 'retrying':
      return amongNewest(state, () => tables(['ready', 'arrival'], `s.retrying = ${state === 'retrying' ? 1 : 0}`))
    case 'waiting':
      return amongNewest(state, () => tables(['waiting', 'aside'], '1'))
    case 'dead':
      return reader.walk({ from: 'punctual_dead s INDEXED BY punctual_dead_ref', where: '1', values: [] }, asked, () =>
        lanes(state),
      )
    case 'completed':
      return amongNewest(state, () => lanes(state))
    default:
      return reader.walk(endedAs(state), asked, () => lanes(state))
  }
}

/** The planner takes a partial index only where it finds the index's own condition. */
function endedAs(state: OccurrenceState): Origin {
  const from = 'punctual_turn s INDEXED BY punctual_turn_end_ref'
  return { from, where: `s.end = '${state}' AND s.end <> 'completed'`, values: [] }
}

/** The tenant and job of a filter, as a condition on the series of a row. */
function askedOf({ tenant, job }: OccurrenceFilter): Condition {
  const named = (column: string) => `(SELECT a.${column} FROM punctual_series a WHERE a.ref = s.series) = ?`
  return whereOf([
    [named('tenant'), tenant],
    [named('job'), job],
  ])
}

function isAsked({ tx }: Tables, { tenant, job }: OccurrenceFilter) {
  const isOf = having({ tenant, job })
  return ({ series }: { readonly series: number }) => isOf(tx.names.seriesByRef(series))
}

function both(origin: Origin, { where, values }: Condition): Origin {
  return { from: origin.from, where: `${origin.where} AND ${where}`, values: [...origin.values, ...values] }
}
