// The rule of a creation: the fate of a new row by the work that has its id or key. Memory and SQLite run it row by row; PostgreSQL
// decides on many rows in one statement.
import type { JobSpec } from '../../model/job.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import type { MemberWrite } from '../messages/claim.ts'
import type { CreatedRow, NewOccurrence } from '../messages/create.ts'
import { isChange } from './audit.ts'
import {
  changedDue,
  changedRecord,
  changeOf,
  conflictAnswer,
  existingOf,
  givesWay,
  type HeldOccurrence,
  idAfter,
  isThrottled,
  pacedWork,
  takesKey,
} from './conflict.ts'
import { draftCreated } from './draft.ts'
import { isPassedOver, type Tombstone } from './tombstone.ts'

/** The occurrences of a store, as a creation reads and changes them. */
export interface Holdings<Entry extends HeldOccurrence> {
  readonly now: number
  /** Whether the turn of the maker goes on and no cancel of it was requested. */
  mayMake(maker: MemberWrite): boolean
  find(id: string): Entry | null
  tombstone(id: string): Tombstone | undefined
  /** The newest with the live key of a row, ended or not. */
  newestOfKey(row: NewOccurrence): Entry | null
  /** The one that keeps others from the live key of a row. */
  holderOfKey(row: NewOccurrence): Entry | null
  /** Takes the live key of a row from its holder. */
  takeKey(row: NewOccurrence, holder: Entry): void
  /** The version that a row belongs to, and its spec; for a job that the tenant lacks, the spec of the definition's own job. */
  versionOf(row: NewOccurrence): { readonly version: number; readonly spec: JobSpec | undefined }
  add(record: OccurrenceRecord, dueAt: number): void
  change(entry: Entry, record: OccurrenceRecord, dueAt: number): void
}

/** Creates rows in order. `earliest`: when the first work that was created or changed is due; null for none. */
export function createAll<Entry extends HeldOccurrence>(
  holdings: Holdings<Entry>,
  rows: readonly NewOccurrence[],
): { readonly answers: readonly CreatedRow[]; readonly earliest: number | null } {
  let earliest = Number.POSITIVE_INFINITY
  const answers = rows.map((row) => {
    const dueAt = typeof row.due === 'number' ? row.due : holdings.now + row.due.in
    const [answer, due] = createOne(holdings, row, dueAt)
    if (isChange(answer.outcome)) earliest = Math.min(earliest, due)
    return answer
  })
  return { answers, earliest: earliest < Number.POSITIVE_INFINITY ? earliest : null }
}

type Created = readonly [answer: CreatedRow, dueAt: number]

function createOne<Entry extends HeldOccurrence>(holdings: Holdings<Entry>, row: NewOccurrence, dueAt: number): Created {
  if (row.maker && !holdings.mayMake(row.maker)) return [{ id: row.id, outcome: 'refused', state: null, differs: false }, dueAt]
  const [id, existing] = idFor(holdings, row)
  if (existing) return resolve(holdings, existing, row, dueAt)
  if (holdings.tombstone(id)) return [{ id, outcome: 'tombstoned', state: null, differs: false }, dueAt]
  const given = id === row.id ? row : { ...row, id }
  holdings.add(draftCreated(given, { ...holdings.versionOf(row), dueAt, now: holdings.now }), dueAt)
  return [{ id, outcome: 'created', state: 'pending', differs: false }, dueAt]
}

/** The id of the row, and the occurrence that has it or its live key. */
function idFor<Entry extends HeldOccurrence>(
  holdings: Holdings<Entry>,
  row: NewOccurrence,
): readonly [id: string, existing: Entry | null] {
  for (let canceled = 0; ; canceled++) {
    const id = idAfter(row, canceled)
    const existing = holdings.find(id)
    const tombstone = existing ? undefined : holdings.tombstone(id)
    if (existing ? givesWay(existingOf(existing), row) : tombstone && isPassedOver(tombstone, row)) continue
    return [id, existing ?? (row.key !== null && row.unique === 'live' ? ofLiveKey(holdings, row) : null)]
  }
}

/** The occurrence that keeps a row from its live key. One that has begun leaves the key to a row that takes it. */
function ofLiveKey<Entry extends HeldOccurrence>(holdings: Holdings<Entry>, row: NewOccurrence): Entry | null {
  const newest = typeof row.onConflict === 'object' ? holdings.newestOfKey(row) : null
  if (newest && isThrottled(pacedWork(newest), row, holdings.now)) return newest
  const holder = holdings.holderOfKey(row)
  if (!holder || !takesKey(pacedWork(holder), row, holdings.now)) return holder
  holdings.takeKey(row, holder)
  return null
}

function resolve<Entry extends HeldOccurrence>(
  holdings: Holdings<Entry>,
  entry: Entry,
  row: NewOccurrence,
  wanted: number,
): Created {
  const { record } = entry
  const existing = existingOf(entry)
  const change = changeOf(existing, row)
  const dueAt = changedDue(row, record.createdAt, wanted)
  if (change) holdings.change(entry, changedRecord(record, row, change, dueAt), dueAt)
  return [conflictAnswer(existing, row), dueAt]
}
