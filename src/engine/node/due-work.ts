import type { Env } from '../env.ts'
import type { Dispatcher } from '../loops/dispatcher.ts'
import type { TurnResult } from '../turn/turn.ts'

/** Counts from one `runDue()`. */
export interface DueSummary {
  readonly claimed: number
  readonly succeeded: number
  readonly retried: number
  readonly failed: number
}

/** Claims up to `limit` due occurrences, runs them to their end and counts how they came out. */
export async function runDue(
  { events, store }: Env,
  dispatcher: Dispatcher,
  { limit, dueBy }: { limit: number; dueBy?: number },
): Promise<DueSummary> {
  const ends: { claimId: string; result: TurnResult }[] = []
  const stopCounting = events.watch('signal.turn', (end) => ends.push(end))
  try {
    const claimIds = new Set<string>()
    let claimed = 0
    while (claimed < limit) {
      const answer = await dispatcher.claim(Math.min(limit - claimed, store.batchLimit), dueBy)
      if (!answer) break
      claimIds.add(answer.claim.id)
      claimed += answer.members.length
      if (!answer.isFull) break
    }
    await dispatcher.idle()
    const count = (...results: TurnResult[]) =>
      ends.filter(({ claimId, result }) => claimIds.has(claimId) && results.includes(result)).length
    return { claimed, succeeded: count('completed'), retried: count('parked', 'released'), failed: count('failed', 'dead') }
  } finally {
    stopCounting()
  }
}
