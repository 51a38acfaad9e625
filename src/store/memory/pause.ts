import { covers, isSameScope, type PauseRecord } from '../../model/pause.ts'
import { pauseAudit } from '../rules/audit.ts'
import { pauseMessage } from '../rules/message.ts'
import { isOpen, pauseRule } from '../rules/pause.ts'
import type { PauseAnswer, PauseRequest } from '../store.ts'
import { appendAudit } from './audit.ts'
import { jobKey } from './runs.ts'
import type { State } from './state.ts'

export function pause(state: State, request: PauseRequest): PauseAnswer {
  const { now } = state
  const at = state.pauses.findIndex((one) => isSameScope(one, request) && isOpen(one, now))
  const until = request.open?.until == null ? null : state.dueAt(request.open.until)
  const answer = pauseRule(state.pauses[at], request, { id: (state.pauses.at(-1)?.id ?? 0) + 1, until, now })
  if (answer.outcome === 'unchanged') return answer
  appendAudit(state, pauseAudit(state.pauses[at], request, answer))
  const changed = answer.pause as PauseRecord
  if (at >= 0) state.pauses[at] = changed
  else state.pauses.push(changed)
  const { tenant, job } = changed
  const spec = tenant === null || job === null ? undefined : state.jobs.get(jobKey(tenant, job))?.spec
  state.addMessage(pauseMessage(spec?.publish, answer.outcome, changed, now))
  state.pauseRevision += 1
  for (const entry of [...state.aside]) if (entry.wait?.reason === 'pause') state.makeReady(entry, entry.dueAt)
  if (answer.outcome === 'paused') freeKeys(state, changed)
  state.hint({ kind: 'job' })
  state.hint({ kind: 'due', at: now })
  return answer
}

/** Work that a pause holds back holds no key that other jobs may need. */
function freeKeys(state: State, paused: PauseRecord): void {
  for (const entry of state.entries.values()) {
    const isIdle = entry.place === 'ready' || entry.place === 'waiting'
    if (isIdle && entry.granted > 0 && covers(paused, entry.tenant, entry.job)) state.takeGrantBack(entry)
  }
}

export function readPauses(state: State, { since }: { since?: number }): readonly PauseRecord[] {
  return state.pauses.filter(({ to }) => since === undefined || to === null || to > since)
}
