import type { JobSpec } from '../../model/job.ts'
import { createAudits, isChange } from '../rules/audit.ts'
import {
  changedDue,
  changedRecord,
  changeOf,
  conflictAnswer,
  existingOf,
  givesWay,
  idAfter,
  isThrottled,
  pacedWork,
  takesKey,
} from '../rules/conflict.ts'
import { draftCreated, ownJobOf } from '../rules/draft.ts'
import { isPassedOver } from '../rules/tombstone.ts'
import type { CreateAnswer, CreatedRow, CreateOptions, MemberWrite, NewOccurrence } from '../store.ts'
import { appendAudit } from './audit.ts'
import { Fence } from './claim/fence.ts'
import { claimAfter } from './claim.ts'
import type { Transaction } from './connection/transaction.ts'
import { newestOf } from './find.ts'
import { JobSpecs } from './names/job-specs.ts'
import { cancelOf } from './occurrence/ends.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'
import { findTombstone, insertOccurrence, updateOccurrence } from './occurrence/insert.ts'
import { reschedule } from './occurrence/live-tables.ts'

export function create(tx: Transaction, rows: readonly NewOccurrence[], options: CreateOptions = {}): CreateAnswer {
  const jobs = new JobSpecs(tx)
  let earliest = Number.POSITIVE_INFINITY
  const answers = rows.map((row) => {
    const [answer, dueAt] = createOne(tx, jobs, row, tx.dueAt(row.due))
    if (isChange(answer.outcome)) earliest = Math.min(earliest, dueAt)
    return answer
  })
  if (earliest < Number.POSITIVE_INFINITY) tx.hintDue(earliest)
  appendAudit(tx, ...createAudits(options.audit, rows, answers))
  return { rows: answers, claimed: claimAfter(tx, options.claim) }
}

function createOne(
  tx: Transaction,
  jobs: JobSpecs,
  row: NewOccurrence,
  dueAt: number,
): readonly [answer: CreatedRow, dueAt: number] {
  if (row.maker && !mayMake(tx, row.maker)) return [{ id: row.id, outcome: 'refused', state: null, differs: false }, dueAt]
  const [id, existing] = idFor(tx, row)
  if (existing) return resolve(tx, existing, row, dueAt)
  if (findTombstone(tx, id)) return [{ id, outcome: 'tombstoned', state: null, differs: false }, dueAt]
  const series = tx.names.series(row.tenant, row.job).ref
  const version = row.version ?? jobs.versionInForce(series)
  const spec = jobs.ofVersion(series, version) ?? ownSpec(tx, jobs, row)
  const given = id === row.id ? row : { ...row, id }
  insertOccurrence(tx, draftCreated(given, { version, spec, dueAt, now: tx.now }), dueAt)
  return [{ id, outcome: 'created', state: 'pending', differs: false }, dueAt]
}

/** Whether the turn goes on and no cancel of it was requested. */
function mayMake(tx: Transaction, maker: MemberWrite): boolean {
  const entry = new Fence(tx).owned(maker)
  return entry !== null && cancelOf(tx, entry.ref) === null
}

/** The current spec of the definition's own job, where the tenant has no such job. */
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
    const tombstone = existing ? undefined : findTombstone(tx, id)
    if (existing ? givesWay(existingOf(existing), row) : tombstone && isPassedOver(tombstone, row)) continue
    return [id, existing ?? (row.key !== null && row.unique === 'live' ? ofLiveKey(tx, row, row.key) : null)]
  }
}

/** The occurrence that keeps a row from its live key. One that has begun leaves the key to a row that takes it. */
function ofLiveKey(tx: Transaction, row: NewOccurrence, key: string): Entry | null {
  const series = tx.names.series(row.tenant, row.job).ref
  const newest = typeof row.onConflict === 'object' ? newestOf(tx, series, key, 1) : null
  if (newest && isThrottled(pacedWork(newest), row, tx.now)) return newest
  const owner = tx.one<{ ref: number }>(
    'SELECT ref FROM punctual_live_key WHERE series = ? AND key = ? AND owner = 1',
    series,
    key,
  )
  const holder = owner ? readEntry(tx, owner.ref) : null
  if (!holder || !takesKey(pacedWork(holder), row, tx.now)) return holder
  tx.run('UPDATE punctual_live_key SET owner = 0 WHERE series = ? AND key = ? AND ref = ?', series, key, holder.ref)
  return null
}

function resolve(
  tx: Transaction,
  entry: Entry,
  row: NewOccurrence,
  wanted: number,
): readonly [answer: CreatedRow, dueAt: number] {
  const { record } = entry
  const existing = existingOf(entry)
  const change = changeOf(existing, row)
  const dueAt = changedDue(row, record.createdAt, wanted)
  if (change) {
    const changed = changedRecord(record, row, change, dueAt)
    updateOccurrence(tx, entry, changed)
    reschedule(tx, entry, dueAt, changed)
  }
  return [conflictAnswer(existing, row), dueAt]
}
