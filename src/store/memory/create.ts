import { type JobSpec, versionAt } from '../../model/job.ts'
import { changeOf, conflictAnswer, freesKey, idAfter, isRemembered } from '../rules/conflict.ts'
import { draftCreated, ownJobOf, versionFor } from '../rules/draft.ts'
import type { CreateAnswer, CreatedRow, CreateOptions, NewOccurrence } from '../store.ts'
import { writeAndClaim } from './claim.ts'
import type { Entry } from './entry.ts'
import { jobKey, keyOf, type State } from './state.ts'

export function create(state: State, rows: readonly NewOccurrence[], options: CreateOptions = {}): CreateAnswer {
  const [answers, claimed] = writeAndClaim(state, options.claim, () => createAll(state, rows))
  return { rows: answers, claimed }
}

function createAll(state: State, rows: readonly NewOccurrence[]): readonly CreatedRow[] {
  let earliest = Number.POSITIVE_INFINITY
  const answers = rows.map((row) => {
    const dueAt = state.dueAt(row.due)
    const answer = createOne(state, row, dueAt)
    if (answer.outcome !== 'existing' && answer.outcome !== 'tombstoned') earliest = Math.min(earliest, dueAt)
    return answer
  })
  if (earliest < Number.POSITIVE_INFINITY) state.hint({ kind: 'due', at: earliest })
  return answers
}

function createOne(state: State, row: NewOccurrence, dueAt: number): CreatedRow {
  const [id, existing] = idFor(state, row)
  if (existing) return resolve(state, existing, row, dueAt)
  if (state.tombstones.has(id)) return { id, outcome: 'tombstoned', state: null, differs: false }
  const version = versionFor(row, state.versions.get(jobKey(row.tenant, row.job)), state.now)
  state.add(draftCreated({ ...row, id }, { version, spec: specFor(state, row, version), dueAt, now: state.now }), dueAt)
  return { id, outcome: 'created', state: 'pending', differs: false }
}

/** The id of the row, and the occurrence that has it or its live key. */
function idFor(state: State, row: NewOccurrence): readonly [id: string, existing: Entry | undefined] {
  for (let canceled = 0; ; canceled++) {
    const id = idAfter(row, canceled)
    const existing = state.byId.get(id)
    if (existing && isRemembered(row) && freesKey(existing)) continue
    const live = !existing && row.key !== null && row.unique === 'live' ? state.liveKeys.get(keyOf(row)) : undefined
    return [id, existing ?? live]
  }
}

/** The job's spec of this version; for a job that the tenant lacks, the current spec of the definition's own job. */
function specFor(state: State, row: NewOccurrence, version: number): JobSpec | undefined {
  const known = state.versions.get(jobKey(row.tenant, row.job))?.find((one) => one.version === version)
  if (known) return known.spec
  const { tenant, name } = ownJobOf(row)
  const own = state.versions.get(jobKey(tenant, name))
  return own && versionAt(own, state.now).spec
}

function resolve(state: State, entry: Entry, row: NewOccurrence, dueAt: number): CreatedRow {
  const { id, state: standing, hasBegun, record } = entry
  const existing = { id, state: standing, hasBegun, payload: record.payload }
  const change = changeOf(existing, row)
  const replaced = change === 'replace' && { payload: row.payload, priority: row.priority }
  if (change) state.reschedule(entry, dueAt, { ...record, scheduledAt: dueAt, ...replaced })
  return conflictAnswer(existing, row)
}
