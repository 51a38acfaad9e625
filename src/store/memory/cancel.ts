import { occurrenceAudit } from '../rules/audit.ts'
import { isOvertaken } from '../rules/conflict.ts'
import type { CancelAnswer, CancelRequest } from '../store.ts'
import { appendAudit } from './audit.ts'
import { audited, type Entry } from './entry.ts'
import { find } from './find.ts'
import type { State } from './state.ts'

export function cancel(
  state: State,
  { which, reason, audit, children = false, keyVersion }: CancelRequest,
): readonly CancelAnswer[] {
  const found = 'entity' in which ? ofEntity(state, which) : [find(state, which)].filter((entry) => entry !== null)
  const current = found.filter(({ record }) => !isOvertaken(record.keyVersion, keyVersion))
  const all = children ? withDescendants(state, current) : current
  return all.map((entry) => {
    const before = audited(entry)
    const outcome = cancelOne(state, entry, reason)
    appendAudit(state, occurrenceAudit(audit, before, audited(entry)))
    return { id: entry.id, outcome }
  })
}

function ofEntity(state: State, { tenant, job, entity }: { tenant: string; job: string; entity: string }): Entry[] {
  return [...state.entries.values()].filter(
    ({ record, place }) => record.tenant === tenant && record.job === job && record.entity === entity && place !== 'ended',
  )
}

/** The entries, and all below them that have not ended, in the order of their creation. */
function withDescendants(state: State, roots: readonly Entry[]): Entry[] {
  const entries = [...state.entries.values()]
  const byParent = Map.groupBy(entries, ({ record }) => record.parent)
  const tree = new Set(roots)
  for (const entry of tree) for (const child of byParent.get(entry.id) ?? []) tree.add(child)
  return [...tree].filter((entry) => roots.includes(entry) || entry.place !== 'ended').sort((a, b) => a.ref - b.ref)
}

function cancelOne(state: State, entry: Entry, reason: string | null): CancelAnswer['outcome'] {
  if (entry.place === 'claimed') {
    entry.cancel ??= { reason }
    state.hint({ kind: 'cancel', node: state.nodeOf(entry) as string })
    return 'canceling'
  }
  if (entry.place === 'ended') return entry.state === 'canceled' ? 'canceled' : 'ended'
  state.endUnattended(entry, 'canceled', reason)
  return 'canceled'
}
