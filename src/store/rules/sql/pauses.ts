import { isSameScope, type PauseRecord } from '../../../model/pause.ts'
import type { PauseAnswer, PauseRequest } from '../../store.ts'
import { pauseAudit } from '../audit.ts'
import { isOpen, pauseRule } from '../pause.ts'
import { appendAudit } from './audit.ts'
import { type Clock, readNow, rows, type Steps } from './steps.ts'

export interface PauseRow {
  readonly id: number
  readonly tenant: string | null
  readonly job: string | null
  readonly from_at: number
  readonly to_at: number | null
  readonly reason: string | null
  readonly by_whom: string | null
}

export function pauseRecord({ id, tenant, job, from_at, to_at, reason, by_whom }: PauseRow): PauseRecord {
  return { id, tenant, job, from: from_at, to: to_at, reason, by: by_whom }
}

const columns = 'id, tenant, job, from_at, to_at, reason, by_whom'

/** Pauses in force at or after `since`, or all. */
export function* readPauses({ since = null }: { readonly since?: number | null } = {}): Steps<readonly PauseRecord[]> {
  const select = `SELECT ${columns} FROM punctual.pause WHERE $1::float8 IS NULL OR to_at IS NULL OR to_at > $1::float8 ORDER BY id`
  return (yield* rows<PauseRow>(select, [since])).map(pauseRecord)
}

/** Writes a pause by its rule. Plans and claims that go by pauses are locked out. */
export function* putPause(clock: Clock, request: PauseRequest): Steps<{ readonly answer: PauseAnswer; readonly now: number }> {
  const now = yield* readNow(clock)
  const all = yield* readPauses()
  const current = all.find((one) => isSameScope(one, request) && isOpen(one, now))
  const given = request.open?.until ?? null
  const until = given === null || typeof given === 'number' ? given : now + given.in
  const answer = pauseRule(current, request, { id: (all.at(-1)?.id ?? 0) + 1, until, now })
  if (answer.outcome === 'unchanged' || !answer.pause) return { answer, now }
  const { id, tenant, job, from, to, reason, by } = answer.pause
  yield* rows(
    `INSERT INTO punctual.pause (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (id) DO UPDATE SET to_at = $5, reason = $6, by_whom = $7`,
    [id, tenant, job, from, to, reason, by],
  )
  yield* appendAudit(clock, [pauseAudit(current, request, answer)])
  return { answer, now }
}

/** Whether a pause is about the jobs of a series, whenever it is, as `covers` of model/pause.ts: names of the two rows. */
export const coversSeries = (pause: string, series: string) =>
  `(${pause}.tenant IS NULL OR ${pause}.tenant = ${series}.tenant) AND (${pause}.job IS NULL OR ${pause}.job = ${series}.job)`
