import type { OccurrenceRecord } from '../../model/occurrence.ts'
import type { CreateAnswer, JobPlan, NewOccurrence, PlanAnswer, PlanCandidate, PlanWork } from '../store.ts'
import { putReady, takeOut } from './ending.ts'
import { findJob, jobsByNext } from './jobs.ts'
import { toJson } from './records.ts'
import { type Standing, standings } from './standing.ts'
import type { Transaction } from './transaction.ts'

export function jobsToPlan(tx: Transaction, { horizonMs, limit }: { horizonMs: number; limit: number }): PlanWork {
  const { now } = tx
  const scheduled = jobsByNext(tx, limit + 1)
  const due = scheduled.slice(0, limit).filter((job) => (job.nextAt as number) <= now + horizonMs)
  const jobs = due.map(
    (job): PlanCandidate => ({
      job,
      stranded: stranded(tx, tx.dictionary.series(job.tenant, job.name).ref).map((row) => row.scheduledAt),
    }),
  )
  const next = scheduled[jobs.length]?.nextAt ?? null
  return { now, aliveSince: aliveSince(tx), jobs, nextAt: next === null ? null : next - horizonMs }
}

export function aliveSince(tx: Transaction): number {
  return (tx.one<[number]>("SELECT value FROM punctual_meta WHERE name = 'alive_since'") as [number])[0]
}

export function plan(tx: Transaction, plans: readonly JobPlan[]): readonly PlanAnswer[] {
  return plans.map((one) => planJob(tx, one))
}

function planJob(tx: Transaction, { tenant, job: name, version, cursor, through, nextAt, rows, revive }: JobPlan): PlanAnswer {
  const job = findJob(tx, tenant, name)
  if (!job || job.version !== version || job.cursor !== cursor) return { outcome: 'behind' }
  const series = tx.dictionary.series(tenant, name).ref
  tx.run('UPDATE punctual_job SET cursor = ?, next_at = ? WHERE series = ?', through, nextAt, series)
  const { definition, payload } = job.spec
  const common = {
    tenant,
    job: name,
    definition,
    version,
    key: null,
    unique: 'ever',
    entity: null,
    refs: {},
    payload,
    settings: null,
    createdAt: tx.now,
  } as const
  let created = 0
  for (const { id, at, source, priority } of rows)
    if (!isTombstoned(tx, id) && insertOccurrence(tx, { ...common, id, source, priority, scheduledAt: at })) created++
  if (revive.length > 0) for (const row of stranded(tx, series)) if (revive.includes(row.scheduledAt)) unstrand(tx, series, row)
  const first = rows[0]
  if (first) tx.hints.push({ kind: 'due', at: first.at })
  else if (revive.length > 0) tx.hints.push({ kind: 'due', at: tx.now })
  return { outcome: 'planned', created }
}

interface Stranded {
  readonly ref: number
  readonly kind: number
  readonly priority: number
  readonly dueAt: number
  readonly scheduledAt: number
}

function stranded(tx: Transaction, series: number): Stranded[] {
  const rows = tx.all<[number, number, number, number, number]>(
    `SELECT w.ref, w.kind, w.priority, w.due_at, o.scheduled_at FROM punctual_waiting w JOIN punctual_occurrence o ON o.ref = w.ref
      WHERE w.series = ? AND w.reason = 'stranded' ORDER BY w.ref`,
    series,
  )
  return rows.map(([ref, kind, priority, dueAt, scheduledAt]) => ({ ref, kind, priority, dueAt, scheduledAt }))
}

function unstrand(tx: Transaction, series: number, { scheduledAt, ...row }: Stranded): void {
  const member = { ...row, series, turn: 1, firstDueAt: scheduledAt, liveKey: null, isPlanned: true }
  takeOut(tx, 'waiting', member)
  putReady(tx, member, false)
  tx.tally(series, 'waiting', 'pending')
}

export function create(tx: Transaction, rows: readonly NewOccurrence[]): readonly CreateAnswer[] {
  const versions = new Map<number, number>()
  let earliest = Number.POSITIVE_INFINITY
  const answers = rows.map((row) => {
    const scheduledAt = tx.dueAt(row.due)
    const answer = createOne(tx, row, scheduledAt, versions)
    if (answer.outcome !== 'existing' && answer.outcome !== 'tombstoned') earliest = Math.min(earliest, scheduledAt)
    return answer
  })
  if (earliest < Number.POSITIVE_INFINITY) tx.hints.push({ kind: 'due', at: earliest })
  return answers
}

function createOne(tx: Transaction, row: NewOccurrence, scheduledAt: number, versions: Map<number, number>): CreateAnswer {
  const series = tx.dictionary.series(row.tenant, row.job).ref
  const holder = row.unique === 'live' && row.key !== null ? liveHolder(tx, series, row.id, row.key) : undefined
  if (holder) return resolveConflict(tx, standings(tx, 'o.ref = ?', holder[0])[0] as Standing, row, scheduledAt)
  if (isTombstoned(tx, row.id)) return { id: row.id, outcome: 'tombstoned', differs: false }
  const version = versions.get(series) ?? jobVersion(tx, series)
  versions.set(series, version)
  if (insertOccurrence(tx, { ...row, version, scheduledAt, createdAt: tx.now }))
    return { id: row.id, outcome: 'created', differs: false }
  return resolveConflict(tx, standings(tx, 'o.id = ?', row.id)[0] as Standing, row, scheduledAt)
}

function jobVersion(tx: Transaction, series: number): number {
  return tx.one<[number]>('SELECT version FROM punctual_job WHERE series = ?', series)?.[0] ?? 0
}

/** The occurrence that has the id, else the one that has the key. */
function liveHolder(tx: Transaction, series: number, id: string, key: string): [ref: number] | undefined {
  return (
    tx.one<[number]>('SELECT ref FROM punctual_occurrence WHERE id = ?', id) ??
    tx.one<[number]>('SELECT ref FROM punctual_live_key WHERE series = ? AND key = ?', series, key)
  )
}

function isTombstoned(tx: Transaction, id: string): boolean {
  return tx.has('punctual_tombstone') && tx.one('SELECT 1 FROM punctual_tombstone WHERE id = ?', id) !== undefined
}

/** Writes an occurrence and makes it ready. False: its id is taken. */
function insertOccurrence(tx: Transaction, record: OccurrenceRecord): boolean {
  const { source, key, unique, priority, scheduledAt } = record
  const ref = tx.newRef()
  const series = tx.dictionary.series(record.tenant, record.job).ref
  const kind = tx.dictionary.kind(record.definition)
  if (!insertRow(tx, record, { ref, series, kind })) return false
  const liveKey = unique === 'live' ? key : null
  if (liveKey !== null) tx.run('INSERT INTO punctual_live_key (series, key, ref) VALUES (?, ?, ?)', series, liveKey, ref)
  const isPlanned = source === 'schedule' || source === 'recovery'
  putReady(tx, { ref, series, kind, priority, turn: 1, dueAt: scheduledAt, firstDueAt: scheduledAt, liveKey, isPlanned }, false)
  tx.tally(series, null, 'pending')
  tx.blocks.noteDue(ref, scheduledAt)
  return true
}

function insertRow(
  tx: Transaction,
  record: OccurrenceRecord,
  { ref, series, kind }: { ref: number; series: number; kind: number },
): boolean {
  const { id, version, source, key, unique, entity, refs, payload, settings, priority, scheduledAt, createdAt } = record
  const refsText = Object.keys(refs).length === 0 ? null : JSON.stringify(refs)
  const insert = tx.statement(
    `INSERT INTO punctual_occurrence
      (ref, id, series, kind, version, source, key, uniqueness, entity, refs, settings, priority, scheduled_at, created_at, payload)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  )
  const first = [ref, id, series, kind, version, source, key, unique, entity, refsText, toJson(settings)] as const
  return insert.run(...first, priority, scheduledAt, createdAt, payload).changes === 1
}

function resolveConflict(tx: Transaction, standing: Standing, row: NewOccurrence, scheduledAt: number): CreateAnswer {
  const { id, payload } = standing.record
  const differs = payload !== row.payload
  const { place, turn } = standing
  if (row.onConflict === 'keep' || turn !== 1 || (place !== 'ready' && place !== 'waiting'))
    return { id, outcome: 'existing', differs }
  const isReplaced = row.onConflict === 'replace'
  const { ref, series } = standing
  const priority = isReplaced ? row.priority : standing.priority
  tx.run(
    'UPDATE punctual_occurrence SET scheduled_at = ?, priority = ?, payload = ? WHERE ref = ?',
    scheduledAt,
    priority,
    isReplaced ? row.payload : payload,
    ref,
  )
  tx.blocks.noteDue(ref, scheduledAt)
  takeOut(tx, place, standing)
  putReady(tx, { ...standing, priority, dueAt: scheduledAt }, false)
  tx.tally(series, standing.state, 'pending')
  return { id, outcome: isReplaced ? 'replaced' : 'moved', differs: !isReplaced && differs }
}
