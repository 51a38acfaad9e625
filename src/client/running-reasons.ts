// Reasons for work that has begun: it runs, for long or not, or fails again and again.
import type { OccurrenceHistory } from '../model/occurrence.ts'
import { isoText } from '../time/instant.ts'
import { type Reason, reason } from './reason.ts'

/** A run of more than this is named as long. */
const longRunMs = 60_000

export function runningReason({ node, runningSince, progress }: OccurrenceHistory, now: number): Reason {
  const ms = runningSince === null ? null : Math.max(0, now - runningSince)
  const code = ms !== null && ms > longRunMs ? 'long-run' : 'running'
  const since = ms === null ? '' : ` for ${Math.round(ms / 1000)} s, since ${isoText(runningSince as number)}`
  const done = progress ? `, and is ${Math.round(progress.done * 100)} % through task ${progress.task}` : ''
  return reason(code, `It runs on node ${node}${since}${done}`, {
    node,
    startedAt: runningSince === null ? null : isoText(runningSince),
    runningMs: ms,
  })
}

/** From the second failed attempt on. */
export function loopReasons({ turns, attempts }: OccurrenceHistory): Reason[] {
  const failed = [
    ...turns.filter(({ attempt, end }) => attempt === 'failed' || attempt === 'timeout' || end === 'stale'),
    ...attempts.filter(({ state }) => state === 'failed' || state === 'timeout'),
  ].sort((a, b) => a.endedAt - b.endedAt)
  const last = failed.at(-1)
  if (!last || failed.length < 2) return []
  const why = last.error ? `: ${last.error.message}` : ''
  return [
    reason('retry-loop', `It has failed ${failed.length} times and is tried again; last at ${isoText(last.endedAt)}${why}`, {
      failures: failed.length,
      lastFailedAt: isoText(last.endedAt),
      error: last.error,
    }),
  ]
}
