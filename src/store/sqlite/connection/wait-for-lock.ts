import { PunctualError } from '../../../errors.ts'
import { sleep } from '../../../time/clock.ts'
import type { StoreEnv } from '../../store.ts'
import { isBusy } from './failure.ts'

const firstWaitMs = 1
/** Beside a process that writes without a break, a caller that waited longer would come too late again and again. */
const longestWaitMs = 4

/**
 * Repeats `act` while another process holds the lock, up to `deadlineMs`. The waits are timers, never SQLite's own, so the event loop
 * goes on; they are spread, so processes do not try at the same moments.
 */
export async function waitForLock<Answer>({ clock, random }: StoreEnv, deadlineMs: number, act: () => Answer): Promise<Answer> {
  const since = clock.mono()
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return act()
    } catch (error) {
      if (!isBusy(error)) throw error
      const waited = clock.mono() - since
      if (waited >= deadlineMs)
        throw new PunctualError(
          'store.busy',
          `Another process has held the lock of the database for ${Math.round(waited)} ms`,
          { waitedMs: waited },
          { cause: error },
        )
    }
    await sleep(clock, waitMs * (0.5 + random() / 2))
  }
}
