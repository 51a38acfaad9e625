import type { PauseRecord } from '../../model/pause.ts'
import type { PauseAnswer, PauseRequest } from '../messages/job.ts'

/** Whether a pause is open at an instant: a request for the same scope changes it instead of adding another. */
export function isOpen({ to }: Pick<PauseRecord, 'to'>, now: number): boolean {
  return to === null || to > now
}

/** Applies a request to the open pause of its scope, if there is one. `id`: for a new pause. `until`: its requested end. */
export function pauseRule(
  current: PauseRecord | undefined,
  { tenant, job, open }: PauseRequest,
  { id, until, now }: { id: number; until: number | null; now: number },
): PauseAnswer {
  if (!open && !current) return { outcome: 'unchanged', pause: null }
  const wanted = open ? { to: until, reason: open.reason, by: open.by } : { to: now }
  const pause: PauseRecord = { id, tenant, job, from: now, reason: null, by: null, ...current, ...wanted }
  if (current && current.to === pause.to && current.reason === pause.reason && current.by === pause.by)
    return { outcome: 'unchanged', pause: current }
  return { outcome: open ? 'paused' : 'resumed', pause }
}
