import { type JobSpec, versionAt } from '../../model/job.ts'
import { createAudits } from '../rules/audit.ts'
import { createAll, type Holdings } from '../rules/create.ts'
import { ownJobOf, versionFor } from '../rules/draft.ts'
import type { CreateAnswer, CreateOptions, NewOccurrence } from '../store.ts'
import { appendAudit } from './audit.ts'
import { owned } from './checkpoint.ts'
import { writeAndClaim } from './claim.ts'
import type { Entry } from './entry.ts'
import { jobKey } from './runs.ts'
import { keyOf, type State } from './state.ts'

export function create(state: State, rows: readonly NewOccurrence[], options: CreateOptions = {}): CreateAnswer {
  const [answers, claimed] = writeAndClaim(state, options.claim, () => {
    const { answers, earliest } = createAll(holdings(state), rows)
    if (earliest !== null) state.hint({ kind: 'due', at: earliest })
    return answers
  })
  appendAudit(state, ...createAudits(options.audit, rows, answers))
  return { rows: answers, claimed }
}

function holdings(state: State): Holdings<Entry> {
  return {
    now: state.now,
    mayMake: (maker) => owned(state, maker)?.cancel === null,
    find: (id) => state.byId.get(id) ?? null,
    tombstone: (id) => state.tombstones.get(id),
    newestOfKey: (row) => state.byKey.get(keyOf(row))?.at(-1) ?? null,
    holderOfKey: (row) => state.liveKeys.get(keyOf(row)) ?? null,
    // The next holder replaces it.
    takeKey: () => {},
    versionOf(row) {
      const version = versionFor(row, state.versions.get(jobKey(row.tenant, row.job)), state.now)
      return { version, spec: specFor(state, row, version) }
    },
    add: (record, dueAt) => state.add(record, dueAt),
    change: (entry, record, dueAt) => state.reschedule(entry, dueAt, record),
  }
}

function specFor(state: State, row: NewOccurrence, version: number): JobSpec | undefined {
  const known = state.versions.get(jobKey(row.tenant, row.job))?.find((one) => one.version === version)
  if (known) return known.spec
  const { tenant, name } = ownJobOf(row)
  const own = state.versions.get(jobKey(tenant, name))
  return own && versionAt(own, state.now).spec
}
