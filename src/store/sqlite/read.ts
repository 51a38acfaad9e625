import { keyedId } from '../../model/ids.ts'
import { occurrenceStates } from '../../model/lifecycle.ts'
import type { OccurrenceHistory, Progress } from '../../model/occurrence.ts'
import type { JobCounts, NodeRecord, Which } from '../store.ts'
import { attemptsOf, turnsOf } from './claim.ts'
import { holders } from './claims.ts'
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
  const { ref, series, record, state, place } = standing
  const held = place === 'claimed' ? holders(tx, ref) : new Map()
  return {
    record,
    state,
    dueAt: heldDue(standing, held),
    node: held.get(ref)?.node ?? null,
    turns: turnsOf(tx, series, ref),
    attempts: attemptsOf(tx, ref),
    progress: progressOf(tx, ref),
  }
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

export function counts(tx: Transaction, { tenant, job }: { tenant?: string; job?: string }): JobCounts {
  const conditions = [...(tenant === undefined ? [] : ['tenant = ?']), ...(job === undefined ? [] : ['job = ?'])]
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const sums = occurrenceStates.map((state) => `sum(${state})`).join(', ')
  const values = [tenant, job].filter((value) => value !== undefined)
  const row = tx.one<(number | null)[]>(`SELECT max(last_run_at), ${sums} FROM punctual_series ${where}`, ...values) as (
    | number
    | null
  )[]
  const states = noStates()
  for (const [index, state] of occurrenceStates.entries()) states[state] = row[index + 1] ?? 0
  return { states, lastRunAt: row[0] ?? null }
}

type NodeRow = [
  boot: string,
  name: string,
  pid: number,
  concurrency: number,
  kinds: string,
  version: string,
  tz: string,
  ttl: number,
  started: number,
  beat: number,
  beats: number,
  running: number,
]

export function nodes(tx: Transaction): { now: number; nodes: readonly NodeRecord[] } {
  const rows = tx.all<NodeRow>(
    'SELECT boot, name, pid, concurrency, kinds, version, tz, ttl_ms, started_at, beat_at, beats, running FROM punctual_node ORDER BY ref',
  )
  return { now: tx.now, nodes: rows.map(nodeRecord) }
}

function nodeRecord([
  boot,
  name,
  pid,
  concurrency,
  kinds,
  version,
  tz,
  ttlMs,
  startedAt,
  beatAt,
  beats,
  running,
]: NodeRow): NodeRecord {
  return { boot, name, pid, concurrency, kinds: JSON.parse(kinds), version, tz, ttlMs, startedAt, beatAt, beats, running }
}
