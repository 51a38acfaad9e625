import type { AttemptLog, AttemptRecord } from '../../model/occurrence.ts'
import type { CheckpointItem, MemberWrite, WriteAnswer } from '../store.ts'
import { appendAudit } from './audit.ts'
import type { Entry } from './entry.ts'
import type { State } from './state.ts'

export function checkpoint(state: State, items: readonly CheckpointItem[]): readonly WriteAnswer[] {
  return items.map((item) => {
    const entry = owned(state, item)
    if (!entry) return 'lost'
    addAttempts(entry, item.attempts)
    appendAudit(state, ...(item.events ?? []))
    if (item.progress) entry.progress = item.progress
    putLogs(entry, item.logs)
    if (item.start) entry.start = { turn: entry.turn, ...item.start }
    return 'ok'
  })
}

/** The entry, when the claim is valid, the token is right and the turn has not ended: the fence. */
export function owned(state: State, { claim, member: { ref, turn } }: MemberWrite): Entry | null {
  const entry = state.entries.get(ref)
  const isValid = entry?.claim === claim.id && entry.turn === turn && state.claims.get(claim.id)?.token === claim.token
  return isValid ? (entry as Entry) : null
}

export function addAttempts(entry: Entry, attempts: readonly AttemptRecord[]): void {
  for (const attempt of attempts)
    if (!entry.attempts.some(({ task, n }) => task === attempt.task && n === attempt.n)) entry.attempts.push(attempt)
}

export function putLogs({ logs }: Entry, given: readonly AttemptLog[] = []): void {
  for (const log of given) {
    const at = logs.findIndex(({ turn, task, n }) => turn === log.turn && task === log.task && n === log.n)
    logs.splice(at === -1 ? logs.length : at, 1, log)
  }
}
