// How lists find their rows: along an index that holds them in the right order, so none walks the rows of other jobs or
// states. The more rows there are, the more a list must not depend on them.
import type { OccurrenceState } from '../../../model/lifecycle.ts'
import type { OccurrenceFilter } from '../../query.ts'
import { seriesWhere } from '../../rules/sql/conditions.ts'
import type { Session } from '../connection/session.ts'
import { currentRows, currentState } from '../occurrence/current-rows.ts'

/** A statement that answers with handles; of its values, $1 is below which of them to look and $2 how many are wanted. */
export interface Search {
  readonly sql: string
  readonly values: readonly unknown[]
}

/** The ways to what a filter wants: the first that finds a whole page, or the last, has it. Of several lists, all together. */
export type Ways = readonly [Search, ...Search[]]

/** A filter whose rows all have handles from `first` on. */
export interface BoundedFilter extends OccurrenceFilter {
  readonly first?: number
}

/** The searches that together find what a filter wants. */
export async function searches(session: Session, filter: BoundedFilter): Promise<readonly Ways[]> {
  const { tenant, job, states, key, entity, parent, cause } = filter
  if (parent !== undefined) return [[ofParent(filter)]]
  const isNamed = key !== undefined || entity !== undefined
  if (!isNamed && cause !== undefined) return [[job === undefined ? ofCause(filter, cause) : lanes(filter, 'dead')]]
  if (!isNamed && states) return Promise.all([...new Set(states)].map((state) => waysToState(session, filter, state)))
  if (isNamed) return [[job === undefined ? namedOfMany(filter) : lanes(filter)]]
  const isWhole = tenant === undefined && job === undefined
  return [[isWhole ? inTable(filter, { from: 'punctual.occurrence o', row: 'o', where: 'true' }) : lanes(filter)]]
}

/** Number of the newest rows that a list over all jobs reads one by one: there may be thousands of lanes. */
const mostRecent = 5000
/** Where the state of each is looked up. */
const mostRecentStates = 1000
/** Other states have an index over all jobs. */
const foundAmongNewest: readonly OccurrenceState[] = ['pending', 'waiting', 'retrying', 'completed']
/** Rows in a state that are passed by for those of one tenant. */
const mostPassedBy = 5000

/** Finds what is among the newest of all, which mostly is a page's worth; null where there is a shorter way. */
export function recent(filter: BoundedFilter): Search | null {
  const { tenant, job, states, key, entity, parent, cause } = filter
  const isOfMany = tenant !== undefined || states !== undefined || key !== undefined || entity !== undefined
  if (!isOfMany || job !== undefined || parent !== undefined || cause !== undefined) return null
  const isNamed = key !== undefined || entity !== undefined
  if (!isNamed && states && !states.every((state) => foundAmongNewest.includes(state))) return null
  const values = new Values()
  const isWanted = [...named(filter, values), ofTenant(filter, values, 'o'), within(filter, values)].join(' AND ')
  const inStates = states ? `${currentState} = ANY(${values.add([...states], 'text[]')})` : 'true'
  const sql = `SELECT o.ref FROM (
      SELECT * FROM (SELECT ref, series, scheduled_at, key, entity, form FROM punctual.occurrence WHERE ${between(filter, values)}
        ORDER BY ref DESC LIMIT ${states ? mostRecentStates : mostRecent}) o WHERE ${isWanted} OFFSET 0
    ) o ${states ? currentRows : ''} WHERE ${inStates} ORDER BY o.ref DESC LIMIT $2`
  return { sql, values: values.all }
}

async function waysToState(session: Session, filter: BoundedFilter, state: OccurrenceState): Promise<Ways> {
  if (state === 'running' || filter.job !== undefined) return [await searchOfState(session, filter, state)]
  if (state === 'pending' || state === 'retrying' || state === 'waiting') return [inTable(filter, originOf(state))]
  if (state === 'completed' && filter.tenant !== undefined) return [await searchOfState(session, filter, state)]
  const origin = state === 'completed' ? completed : originOf(state)
  if (filter.tenant === undefined) return [inTable(filter, origin)]
  return [inTable(filter, origin, mostPassedBy), lanes(filter, state)]
}

const completed: Origin = { from: 'punctual.turn t', row: 't', where: `t."end" = 'completed'` }

/** A condition on the tenant of a row. */
function ofTenant({ tenant }: OccurrenceFilter, values: Values, row: string): string {
  if (tenant === undefined) return 'true'
  return `(SELECT s.tenant FROM punctual.series s WHERE s.ref = ${row}.series) = ${values.add(tenant, 'text')}`
}

/** The work of a key or entity, whatever its jobs, brought in order: what much work has is among the newest. */
function namedOfMany(filter: BoundedFilter): Search {
  const values = new Values()
  const { key: _key, unique: _unique, entity: _entity, ...rest } = filter
  const { from, where } = originOfSeries(rest, values)
  const isNamed = named(filter, values).join(' AND ')
  const sql = `WITH found AS MATERIALIZED (
      SELECT o.ref, o.series, o.scheduled_at FROM punctual.occurrence o WHERE ${isNamed} AND ${between(filter, values, 'o.')}
    )
    SELECT o.ref FROM ${from.replace('punctual.occurrence o', 'found o')}
      WHERE ${where} AND ${ofTenant(filter, values, 'o')} AND ${within(filter, values)} ORDER BY o.ref DESC LIMIT $2`
  return { sql, values: values.all }
}

/** The dead of a cause, of all jobs or those of a tenant, each along its index. */
function ofCause(filter: BoundedFilter, cause: string): Search {
  const values = new Values()
  const ofOne = filter.tenant === undefined ? 'true' : `p.tenant = ${values.add(filter.tenant, 'text')}`
  const sql = `SELECT p.ref FROM ${withOccurrence({ from: 'punctual.dead p', row: 'p', where: '' }, filter)}
    WHERE ${ofOne} AND p.cause = ${values.add(cause, 'text')} AND ${between(filter, values, 'p.')} AND ${within(filter, values)}
    ORDER BY p.ref DESC LIMIT $2`
  return { sql, values: values.all }
}

async function searchOfState(session: Session, filter: BoundedFilter, state: OccurrenceState): Promise<Search> {
  if (state === 'running') return running(filter)
  if (state === 'completed' && (await isBuried(session, filter))) return inTable(filter, completed)
  return lanes(filter, state)
}

/** Collects the values of a statement that has some before them. */
class Values {
  readonly all: unknown[] = []
  readonly #before: number

  constructor(before = 2) {
    this.#before = before
  }

  add(value: unknown, type: string): string {
    this.all.push(value)
    return `$${this.#before + this.all.length}::${type}`
  }

  /** A condition on series `s`. */
  asked(filter: BoundedFilter): string {
    const { where, values } = seriesWhere(filter, this.#before + this.all.length + 1)
    this.all.push(...values)
    return where
  }
}

/** The conditions of a filter on an occurrence `o`, its instants left out. `before`: how many values the statement has already. */
export function matching(filter: BoundedFilter, before: number): { readonly where: string; readonly values: unknown[] } {
  const values = new Values(before)
  const isOfSome = filter.tenant !== undefined || filter.job !== undefined
  const conditions = [
    ...(isOfSome ? [`o.series IN (SELECT s.ref FROM punctual.series s WHERE ${values.asked(filter)})`] : []),
    ...named(filter, values),
  ]
  return { where: conditions.join(' AND ') || 'true', values: values.all }
}

function named({ key, unique, entity, parent }: OccurrenceFilter, values: Values): string[] {
  return [
    ...(key === undefined ? [] : [`o.key = ${values.add(key, 'text')}`]),
    ...(unique === undefined ? [] : [ofKind(values.add(unique, 'text'))]),
    ...(entity === undefined ? [] : [`o.entity = ${values.add(entity, 'text')}`]),
    ...(parent === undefined ? [] : [`o.parent = ${values.add(parent, 'uuid')}`]),
  ]
}

/** Whether the key of an occurrence `o` is of a kind. */
function ofKind(kind: string): string {
  return `(SELECT f.uniqueness FROM punctual.form f WHERE f.ref = o.form) = ${kind}::punctual.uniqueness`
}

/** The handles that are asked for, as a condition on rows that have them. */
function between({ first }: BoundedFilter, values: Values, row = ''): string {
  return `${row}ref < $1::bigint${first === undefined ? '' : ` AND ${row}ref >= ${values.add(first, 'bigint')}`}`
}

/** The instants that are asked for, as a condition on an occurrence `o`. */
function within({ from, to }: OccurrenceFilter, values: Values): string {
  const conditions = [
    ...(from === undefined ? [] : [`o.scheduled_at >= ${values.add(from, 'float8')}`]),
    ...(to === undefined ? [] : [`o.scheduled_at < ${values.add(to, 'float8')}`]),
  ]
  return conditions.join(' AND ') || 'true'
}

/** Where rows are found: a table that one index holds in the order of handles, and what stands at the head of that index. */
interface Origin {
  readonly from: string
  /** The name of the rows that have the handle and the series. */
  readonly row: string
  readonly where: string
}

/** The table of an origin, with the occurrence if the filter has instants. */
function withOccurrence({ from, row }: Origin, { from: since, to }: OccurrenceFilter): string {
  return row === 'o' || (since === undefined && to === undefined)
    ? from
    : `${from} JOIN punctual.occurrence o ON o.ref = ${row}.ref`
}

/** Walks all rows of a table, the newest first, or at most so many of them. */
function inTable(filter: BoundedFilter, origin: Origin, most?: number): Search {
  const values = new Values()
  const { row, where } = origin
  if (most !== undefined) {
    const sql = `SELECT ${row}.ref FROM (
        SELECT ${row}.ref, ${row}.series FROM ${withOccurrence(origin, filter)} WHERE ${between(filter, values, `${row}.`)} AND ${where}
          AND ${within(filter, values)} ORDER BY ${row}.ref DESC LIMIT ${most}
      ) ${row} WHERE ${ofTenant(filter, values, row)} ORDER BY ${row}.ref DESC LIMIT $2`
    return { sql, values: values.all }
  }
  const sql = `SELECT ${row}.ref FROM ${withOccurrence(origin, filter)}
    WHERE ${between(filter, values, `${row}.`)} AND ${ofAsked(filter, values, row)} AND ${where} AND ${within(filter, values)}
    ORDER BY ${row}.ref DESC LIMIT $2`
  return { sql, values: values.all }
}

/** The children of one occurrence, along their own index. */
function ofParent(filter: BoundedFilter): Search {
  const values = new Values()
  const { from, where } = originOfSeries(filter, values)
  const sql = `SELECT o.ref FROM ${from} WHERE ${between(filter, values, 'o.')} AND ${where} AND ${ofAsked(filter, values, 'o')}
    AND ${within(filter, values)} ORDER BY o.ref DESC LIMIT $2`
  return { sql, values: values.all }
}

/** As an array: in a join the order of the rows would be lost. */
function ofAsked(filter: BoundedFilter, values: Values, row: string): string {
  if (filter.tenant === undefined && filter.job === undefined) return 'true'
  return `${row}.series = ANY(ARRAY(SELECT s.ref FROM punctual.series s WHERE ${values.asked(filter)}))`
}

/** Running work: few rows, and only claims know them. Each is looked up by itself, for the planner guesses badly how many they are. */
function running(filter: BoundedFilter): Search {
  const values = new Values()
  const sql = `WITH member AS MATERIALIZED (
      SELECT m.ref, m.turn FROM punctual.claim c CROSS JOIN LATERAL unnest(c.refs, c.turns) m (ref, turn) WHERE ${between(filter, values, 'm.')}
    )
    SELECT m.ref FROM member m
      CROSS JOIN LATERAL (SELECT o.series FROM punctual.occurrence o WHERE o.ref = m.ref AND ${within(filter, values)} LIMIT 1) o
      WHERE ${ofAsked(filter, values, 'o')} AND (SELECT t.turn FROM punctual.turn t WHERE t.ref = m.ref AND t.turn = m.turn) IS NULL
      ORDER BY m.ref DESC LIMIT $2`
  return { sql, values: values.all }
}

/** How many rows of each lane are read at first. Of the few lanes that a page takes all of these from, the rest is read after. */
const firstRows = ({ limit }: OccurrenceFilter) => Math.ceil(Math.sqrt(limit) / 2) + 1

/** Merges one lane of each series of the filter: of all its occurrences, or of those in one state. */
function lanes(filter: BoundedFilter, state?: Exclude<OccurrenceState, 'running'>): Search {
  const values = new Values()
  const asked = values.asked(filter)
  const few = values.add(firstRows(filter), 'bigint')
  const origin = state ? originOf(state) : originOfSeries(filter, values)
  const { row, where } = origin
  const ofCause = state && filter.cause !== undefined ? `p.cause = ${values.add(filter.cause, 'text')}` : 'true'
  const since = filter.first === undefined ? 'true' : `${row}.ref >= ${values.add(filter.first, 'bigint')}`
  const conditions = `${since} AND ${where} AND ${ofCause} AND ${within(filter, values)}`
  const page = (series: string, below: string, limit: string) =>
    `SELECT ${row}.ref FROM ${withOccurrence(origin, filter)} WHERE ${row}.series = ${series} AND ${row}.ref < ${below}
      AND ${conditions} ORDER BY ${row}.ref DESC LIMIT ${limit}`
  const sql = `WITH lane AS MATERIALIZED (SELECT s.ref FROM punctual.series s WHERE ${asked} AND ${state ? isIn(state) : 'true'}),
    first AS MATERIALIZED (
      SELECT l.ref AS series, p.ref FROM lane l CROSS JOIN LATERAL (${page('l.ref', '$1::bigint', few)}) p
    ),
    more AS (
      SELECT p.ref FROM (SELECT series, min(ref) AS last FROM first GROUP BY series HAVING count(*) = ${few}) f
      CROSS JOIN LATERAL (${page('f.series', 'f.last', '$2')}) p
      WHERE f.last > coalesce((SELECT ref FROM first ORDER BY ref DESC OFFSET $2 - 1 LIMIT 1), 0)
    )
    SELECT a.ref FROM (SELECT ref FROM first UNION ALL SELECT ref FROM more) a ORDER BY a.ref DESC LIMIT $2`
  return { sql, values: values.all }
}

/** Whether a series `s` may have occurrences in a state, by its counts. */
function isIn(state: OccurrenceState): string {
  return `(s.${state} > 0 OR EXISTS (SELECT 1 FROM punctual.count_delta y WHERE y.series = s.ref AND y.${state} > 0))`
}

function originOfSeries(filter: BoundedFilter, values: Values): Origin {
  const { states, cause } = filter
  const conditions = [
    ...named(filter, values),
    ...(cause !== undefined ? [`d.cause = ${values.add(cause, 'text')}`] : []),
    ...(states && cause === undefined ? [`${currentState} = ANY(${values.add([...states], 'text[]')})`] : []),
  ]
  return {
    from: `punctual.occurrence o ${states || cause !== undefined ? currentRows : ''}`,
    row: 'o',
    where: conditions.join(' AND ') || 'true',
  }
}

function originOf(state: Exclude<OccurrenceState, 'running'>): Origin {
  switch (state) {
    case 'pending':
      return { from: 'punctual.ready p', row: 'p', where: 'NOT p.retrying' }
    case 'retrying':
      return { from: 'punctual.ready p', row: 'p', where: 'p.retrying' }
    case 'waiting':
    case 'dead':
      return { from: `punctual.${state} p`, row: 'p', where: 'true' }
    case 'completed':
      // Most occurrences have completed, and no index of turns has those.
      return { from: 'punctual.occurrence o JOIN punctual.turn t ON t.ref = o.ref', row: 'o', where: `t."end" = 'completed'` }
    default:
      // The index has all ends but one, and the planner takes it only where it finds the index's own condition.
      return { from: 'punctual.turn t', row: 't', where: `t."end" = '${state}' AND t."end" <> 'completed'` }
  }
}

/**
 * Whether the completed ones of these series lie under so many newer occurrences that have not ended, or in so many lanes, that
 * they are found sooner among the completed ones of all series.
 */
async function isBuried(session: Session, filter: BoundedFilter): Promise<boolean> {
  const values = new Values(0)
  const [row] = await session.rows<Record<'above' | 'own' | 'everyone', number | null>>(
    `SELECT sum(s.pending + s.waiting + s.retrying + s.running + ${firstRows(filter)})::float8 AS above, sum(s.completed)::float8 AS own,
      (SELECT sum(completed) FROM punctual.tenant)::float8 AS everyone
      FROM punctual.series s WHERE ${values.asked(filter)}`,
    values.all,
  )
  const { above = null, own = null, everyone = null } = row ?? {}
  return above !== null && own !== null && everyone !== null && own > 0 && (filter.limit * everyone) / own < above
}
