import { PunctualError } from '../../errors.ts'
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

/** Resolves when no due work is left that this node could run; of one that drains, when nothing that it has claimed is left. */
export async function whenIdle(
  { store, registry, clock }: Env,
  dispatcher: Dispatcher,
  node: { isStarted(): boolean; isDraining(): boolean; wake(isUninformed: boolean): void },
): Promise<void> {
  const isStarted = node.isStarted()
  for (;;) {
    await dispatcher.idle()
    if (node.isDraining()) return dispatcher.claimed().then(() => dispatcher.idle())
    // Read before the peek: kinds that become claimable while it runs are not in its answer.
    const isUninformed = isStarted && !registry.isInformed
    const { now, nextDue } = await store.peek({ kinds: isStarted ? registry.claimableKinds() : registry.names })
    // Work that a claim in flight has taken is no longer due and has not arrived yet.
    await dispatcher.claimed()
    if (!isUninformed && (nextDue === null || nextDue > now) && dispatcher.isIdle) return
    if (!node.isStarted())
      throw new PunctualError('punctual.stopped', 'Work is due and this scheduler is not started; call start() first', {})
    node.wake(isUninformed)
    await new Promise<void>((resolve) => clock.soon(resolve))
  }
}
