import type { JobSpec } from '../../model/job.ts'
import { changeOf, conflictAnswer, freesKey, idAfter, isRemembered } from '../rules/conflict.ts'
import { draftCreated, ownJobOf } from '../rules/draft.ts'
import type { CreateAnswer, CreatedRow, CreateOptions, NewOccurrence } from '../store.ts'
import { claimAfter } from './claim.ts'
import type { Transaction } from './connection/transaction.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'
import { insertOccurrence, isTombstoned, updateOccurrence } from './occurrence/insert.ts'
import { reschedule } from './occurrence/places.ts'
import { JobSpecs } from './schema/job-specs.ts'

export function create(tx: Transaction, rows: readonly NewOccurrence[], options: CreateOptions = {}): CreateAnswer {
  const jobs = new JobSpecs(tx)
  let earliest = Number.POSITIVE_INFINITY
  const answers = rows.map((row) => {
    const dueAt = tx.dueAt(row.due)
    const answer = createOne(tx, jobs, row, dueAt)
    if (answer.outcome !== 'existing' && answer.outcome !== 'tombstoned') earliest = Math.min(earliest, dueAt)
    return answer
  })
  if (earliest < Number.POSITIVE_INFINITY) tx.hintDue(earliest)
  return { rows: answers, claimed: claimAfter(tx, options.claim) }
}

function createOne(tx: Transaction, jobs: JobSpecs, row: NewOccurrence, dueAt: number): CreatedRow {
  const [id, existing] = idFor(tx, row)
  if (existing) return resolve(tx, existing, row, dueAt)
  if (isTombstoned(tx, id)) return { id, outcome: 'tombstoned', state: null, differs: false }
  const series = tx.names.series(row.tenant, row.job).ref
  const version = row.version ?? jobs.versionInForce(series)
  const spec = jobs.ofVersion(series, version) ?? ownSpec(tx, jobs, row)
  const given = id === row.id ? row : { ...row, id }
  insertOccurrence(tx, draftCreated(given, { version, spec, dueAt, now: tx.now }), dueAt)
  return { id, outcome: 'created', state: 'pending', differs: false }
}

/** Where the tenant has no such job, what the definition's own job says now. */
function ownSpec(tx: Transaction, jobs: JobSpecs, row: NewOccurrence): JobSpec | undefined {
  const { tenant, name } = ownJobOf(row)
  const series = tx.names.findSeries(tenant, name)?.ref
  return series === undefined ? undefined : jobs.ofVersion(series, jobs.versionInForce(series))
}

/** The id of the row, and the occurrence that has it or its live key. */
function idFor(tx: Transaction, row: NewOccurrence): readonly [id: string, existing: Entry | null] {
  for (let canceled = 0; ; canceled++) {
    const id = idAfter(row, canceled)
    const ref = tx.refs.find(id)
    const existing = ref === null ? null : readEntry(tx, ref)
    if (existing && isRemembered(row) && freesKey(existing)) continue
    return [id, existing ?? liveOwner(tx, row)]
  }
}

function liveOwner(tx: Transaction, { tenant, job, key, unique }: NewOccurrence): Entry | null {
  if (key === null || unique !== 'live') return null
  const row = tx.one<{ ref: number }>(
    'SELECT ref FROM punctual_live_key WHERE series = ? AND key = ? AND owner = 1',
    tx.names.series(tenant, job).ref,
    key,
  )
  return row ? readEntry(tx, row.ref) : null
}

function resolve(tx: Transaction, entry: Entry, row: NewOccurrence, dueAt: number): CreatedRow {
  const { id, state, hasBegun, record } = entry
  const existing = { id, state, hasBegun, payload: record.payload }
  const change = changeOf(existing, row)
  if (change) {
    const replaced = change === 'replace' && { payload: row.payload, priority: row.priority }
    const changed = { ...record, scheduledAt: dueAt, ...replaced }
    updateOccurrence(tx, entry, changed)
    reschedule(tx, entry, dueAt, changed)
  }
  return conflictAnswer(existing, row)
}
