import { createAudits } from '../rules/audit.ts'
import { createAll, type Holdings } from '../rules/create.ts'
import { ownJobOf } from '../rules/draft.ts'
import type { CreateAnswer, CreateOptions, MemberWrite, NewOccurrence } from '../store.ts'
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
  const { answers, earliest } = createAll(holdings(tx), rows)
  if (earliest !== null) tx.hintDue(earliest)
  appendAudit(tx, ...createAudits(options.audit, rows, answers))
  return { rows: answers, claimed: claimAfter(tx, options.claim) }
}

function holdings(tx: Transaction): Holdings<Entry> {
  const jobs = new JobSpecs(tx)
  const seriesOf = ({ tenant, job }: NewOccurrence) => tx.names.series(tenant, job).ref
  return {
    now: tx.now,
    mayMake: (maker) => mayMake(tx, maker),
    find(id) {
      const ref = tx.refs.find(id)
      return ref === null ? null : readEntry(tx, ref)
    },
    tombstone: (id) => findTombstone(tx, id),
    newestOfKey: (row) => newestOf(tx, seriesOf(row), row.key as string, 1),
    holderOfKey(row) {
      const select = 'SELECT ref FROM punctual_live_key WHERE series = ? AND key = ? AND owner = 1'
      const owner = tx.one<{ ref: number }>(select, seriesOf(row), row.key)
      return owner ? readEntry(tx, owner.ref) : null
    },
    takeKey(row, { ref }) {
      const update = 'UPDATE punctual_live_key SET owner = 0 WHERE series = ? AND key = ? AND ref = ?'
      tx.run(update, seriesOf(row), row.key, ref)
    },
    versionOf(row) {
      const series = seriesOf(row)
      const version = row.version ?? jobs.versionInForce(series)
      return { version, spec: jobs.ofVersion(series, version) ?? ownSpec(tx, jobs, row) }
    },
    add: (record, dueAt) => insertOccurrence(tx, record, dueAt),
    change(entry, record, dueAt) {
      updateOccurrence(tx, entry, record)
      reschedule(tx, entry, dueAt, record)
    },
  }
}

/** Whether the turn goes on and no cancel of it was requested. */
function mayMake(tx: Transaction, maker: MemberWrite): boolean {
  const entry = new Fence(tx).owned(maker)
  return entry !== null && cancelOf(tx, entry.ref) === null
}

/** The current spec of the definition's own job. */
function ownSpec(tx: Transaction, jobs: JobSpecs, row: NewOccurrence) {
  const { tenant, name } = ownJobOf(row)
  const series = tx.names.findSeries(tenant, name)?.ref
  return series === undefined ? undefined : jobs.ofVersion(series, jobs.versionInForce(series))
}
