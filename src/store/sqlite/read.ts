import { keyedId } from '../../model/ids.ts'
import { occurrenceStates } from '../../model/lifecycle.ts'
import type { OccurrenceHistory, Progress } from '../../model/occurrence.ts'
import { type NodeRow, nodeColumns, nodeRecord } from '../rows/node-row.ts'
import { type RangeRow, rangeColumns, rangeRecord } from '../rows/range-row.ts'
import type { JobCounts, NodesAnswer, RangeRecord, Which } from '../store.ts'
import { holders } from './claims.ts'
import { heads } from './due.ts'
import { holdersByAge } from './keys.ts'
import { attemptsOf, turnsOf } from './members.ts'
import { heldDue, type Standing, standings } from './standing.ts'
import { noStates, type Transaction } from './transaction.ts'

export function find(tx: Transaction, which: Which): Standing | null {
  if ('id' in which) {
    const standing = standings(tx, 'o.id = ?', which.id)[0]
    return standing && (which.tenant === undefined || which.tenant === standing.record.tenant) ? standing : null
  }
  const { tenant, job, key } = which
  const known = standings(tx, 'o.id = ?', keyedId(tenant, job, key))[0]
  if (known) return known
  const series = tx.dictionary.findSeries(tenant, job)
  if (!series) return null
  const live = tx.one<[number]>('SELECT ref FROM punctual_live_key WHERE series = ? AND key = ?', series.ref, key)
  const newest =
    live ??
    tx.one<[number]>(
      'SELECT ref FROM punctual_occurrence WHERE series = ? AND key = ? ORDER BY ref DESC LIMIT 1',
      series.ref,
      key,
    )
  return newest ? (standings(tx, 'o.ref = ?', newest[0])[0] as Standing) : null
}

export function get(tx: Transaction, which: Which): OccurrenceHistory | null {
  const standing = find(tx, which)
  if (!standing) return null
  const { ref, series, record, state, place, wait } = standing
  const held = place === 'claimed' ? holders(tx, ref) : new Map()
  return {
    record,
    state,
    dueAt: heldDue(standing, held),
    node: held.get(ref)?.node ?? null,
    turns: turnsOf(tx, series, ref),
    attempts: attemptsOf(tx, ref),
    progress: progressOf(tx, ref),
    wait,
    blockers: wait?.key ? idsOf(tx, holdersByAge(tx, wait.key, 10)) : [],
  }
}

function idsOf(tx: Transaction, refs: readonly number[]): string[] {
  return refs.map((ref) => (tx.one<[string]>('SELECT id FROM punctual_occurrence WHERE ref = ?', ref) as [string])[0])
}

function progressOf(tx: Transaction, ref: number): Progress | null {
  const row = tx.one<[string, number, string | null, number]>(
    'SELECT task, done, message, at FROM punctual_progress WHERE ref = ?',
    ref,
  )
  if (!row) return null
  const [task, done, message, at] = row
  return { task, done, message, at }
}

interface Asked {
  readonly tenant?: string
  readonly job?: string
}

/** The series that are asked for, as a condition and its values. */
function asked({ tenant, job }: Asked): { readonly where: string; readonly values: string[] } {
  const conditions = [...(tenant === undefined ? [] : ['s.tenant = ?']), ...(job === undefined ? [] : ['s.job = ?'])]
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  return { where, values: [tenant, job].filter((value) => value !== undefined) }
}

export function counts(tx: Transaction, of: Asked): JobCounts {
  const { where, values } = asked(of)
  const sums = occurrenceStates.map((state) => `sum(s.${state})`).join(', ')
  const [lastRunAt, failures, missed, skipped, ...numbers] = tx.one<(number | null)[]>(
    `SELECT max(s.last_run_at), sum(s.failures_in_row), sum(s.missed_in_ranges), sum(s.skipped_in_ranges), ${sums} FROM punctual_series s ${where}`,
    ...values,
  ) as (number | null)[]
  const states = noStates()
  for (const [index, state] of occurrenceStates.entries()) states[state] = numbers[index] ?? 0
  states.missed += missed ?? 0
  states.skipped += skipped ?? 0
  return { states, lastRunAt: lastRunAt ?? null, failuresInRow: failures ?? 0 }
}

export function listRanges(tx: Transaction, { limit, ...of }: Asked & { limit: number }): readonly RangeRecord[] {
  const { where, values } = asked(of)
  const rows = tx.all<RangeRow>(
    `SELECT ${rangeColumns}
      FROM punctual_range r JOIN punctual_series s ON s.ref = r.series ${where} ORDER BY r.seq DESC LIMIT ? + 0`,
    ...values,
    limit,
  )
  return rows.map(rangeRecord)
}

export function nodes(tx: Transaction): NodesAnswer {
  const rows = tx.all<NodeRow>(`SELECT boot, ${nodeColumns.join(', ')} FROM punctual_node ORDER BY ref`)
  const all = rows.map(nodeRecord)
  const served = new Set(all.flatMap(({ kinds }) => kinds))
  return { now: tx.now, nodes: all, unserved: unserved(tx, served), isRescueDue: isRescueDue(tx) }
}

function isRescueDue(tx: Transaction): boolean {
  const [isDue] = tx.one<[number]>(
    `SELECT EXISTS (SELECT 1 FROM punctual_start WHERE deadline_at < ?1) OR EXISTS (SELECT 1 FROM punctual_expiry WHERE expires_at < ?1)`,
    tx.now,
  ) as [number]
  return isDue === 1
}

/** Definitions of which something is due that none of the served ones is. */
function unserved(tx: Transaction, served: ReadonlySet<string>): string[] {
  const names = tx.all<[string]>('SELECT name FROM punctual_kind ORDER BY name').map(([name]) => name)
  return names.filter((name) => !served.has(name) && heads(tx, [name]).some(({ dueAt }) => dueAt <= tx.now))
}
