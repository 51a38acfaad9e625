import { type JobSpec, versionAt } from '../../model/job.ts'
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
import { draftCreated, ownJobOf, versionFor } from '../rules/draft.ts'
import { isPassedOver } from '../rules/tombstone.ts'
import type { CreateAnswer, CreatedRow, CreateOptions, MemberWrite, NewOccurrence } from '../store.ts'
import { appendAudit } from './audit.ts'
import { owned } from './checkpoint.ts'
import { writeAndClaim } from './claim.ts'
import type { Entry } from './entry.ts'
import { jobKey } from './runs.ts'
import { keyOf, type State } from './state.ts'

export function create(state: State, rows: readonly NewOccurrence[], options: CreateOptions = {}): CreateAnswer {
  const [answers, claimed] = writeAndClaim(state, options.claim, () => createAll(state, rows))
  appendAudit(state, ...createAudits(options.audit, rows, answers))
  return { rows: answers, claimed }
}

function createAll(state: State, rows: readonly NewOccurrence[]): readonly CreatedRow[] {
  let earliest = Number.POSITIVE_INFINITY
  const answers = rows.map((row) => {
    const [answer, dueAt] = createOne(state, row, state.dueAt(row.due))
    if (isChange(answer.outcome)) earliest = Math.min(earliest, dueAt)
    return answer
  })
  if (earliest < Number.POSITIVE_INFINITY) state.hint({ kind: 'due', at: earliest })
  return answers
}

function createOne(state: State, row: NewOccurrence, dueAt: number): readonly [answer: CreatedRow, dueAt: number] {
  if (row.maker && !mayMake(state, row.maker)) return [{ id: row.id, outcome: 'refused', state: null, differs: false }, dueAt]
  const [id, existing] = idFor(state, row)
  if (existing) return resolve(state, existing, row, dueAt)
  if (state.tombstones.has(id)) return [{ id, outcome: 'tombstoned', state: null, differs: false }, dueAt]
  const version = versionFor(row, state.versions.get(jobKey(row.tenant, row.job)), state.now)
  state.add(draftCreated({ ...row, id }, { version, spec: specFor(state, row, version), dueAt, now: state.now }), dueAt)
  return [{ id, outcome: 'created', state: 'pending', differs: false }, dueAt]
}

/** Whether the turn goes on and no cancel of it was requested. */
function mayMake(state: State, maker: MemberWrite): boolean {
  return owned(state, maker)?.cancel === null
}

/** The id of the row, and the occurrence that has it or its live key. */
function idFor(state: State, row: NewOccurrence): readonly [id: string, existing: Entry | undefined] {
  for (let canceled = 0; ; canceled++) {
    const id = idAfter(row, canceled)
    const existing = state.byId.get(id)
    const tombstone = state.tombstones.get(id)
    if (existing ? givesWay(existingOf(existing), row) : tombstone && isPassedOver(tombstone, row)) continue
    return [id, existing ?? (row.key !== null && row.unique === 'live' ? ofLiveKey(state, row) : undefined)]
  }
}

/** The occurrence that keeps a row from its live key. */
function ofLiveKey(state: State, row: NewOccurrence): Entry | undefined {
  const newest = state.byKey.get(keyOf(row))?.at(-1)
  if (newest && isThrottled(pacedWork(newest), row, state.now)) return newest
  const holder = state.liveKeys.get(keyOf(row))
  return holder && takesKey(pacedWork(holder), row, state.now) ? undefined : holder
}

/** The job's spec of this version; for a job that the tenant lacks, the current spec of the definition's own job. */
function specFor(state: State, row: NewOccurrence, version: number): JobSpec | undefined {
  const known = state.versions.get(jobKey(row.tenant, row.job))?.find((one) => one.version === version)
  if (known) return known.spec
  const { tenant, name } = ownJobOf(row)
  const own = state.versions.get(jobKey(tenant, name))
  return own && versionAt(own, state.now).spec
}

function resolve(state: State, entry: Entry, row: NewOccurrence, wanted: number): readonly [answer: CreatedRow, dueAt: number] {
  const { record } = entry
  const existing = existingOf(entry)
  const change = changeOf(existing, row)
  const dueAt = changedDue(row, record.createdAt, wanted)
  if (change) state.reschedule(entry, dueAt, changedRecord(record, row, change, dueAt))
  return [conflictAnswer(existing, row), dueAt]
}
