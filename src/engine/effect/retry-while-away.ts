import { sleep } from '../../time/clock.ts'
import type { Env } from '../env.ts'
import { isTransient } from '../node/transient.ts'

const longestWaitMs = 2000
const longestMs = 60_000

/** Repeats a call that may be repeated, while the store is away: until the signal aborts, and for a minute at most. */
export async function retryWhileAway<Answer>(
  { clock }: Pick<Env, 'clock'>,
  signal: AbortSignal | null,
  call: () => Promise<Answer>,
): Promise<Answer> {
  const until = clock.mono() + longestMs
  for (let waitMs = 50; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      return await call()
    } catch (error) {
      if (!isTransient(error) || signal?.aborted || clock.mono() >= until) throw error
      await sleep(clock, waitMs, signal ?? undefined)
    }
  }
}
