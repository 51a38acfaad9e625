import type { CancelAnswer, CancelRequest } from '../store.ts'
import type { Entry } from './entry.ts'
import { find } from './find.ts'
import type { State } from './state.ts'

export function cancel(state: State, { which, reason }: CancelRequest): readonly CancelAnswer[] {
  const found = 'entity' in which ? ofEntity(state, which) : [find(state, which)].filter((entry) => entry !== null)
  return found.map((entry) => ({ id: entry.id, outcome: cancelOne(state, entry, reason) }))
}

function ofEntity(state: State, { tenant, job, entity }: { tenant: string; job: string; entity: string }): Entry[] {
  return [...state.entries.values()].filter(
    ({ record, place }) => record.tenant === tenant && record.job === job && record.entity === entity && place !== 'ended',
  )
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
