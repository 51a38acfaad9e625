// Pending timers, in the place where the timer service would have put them.
import { builtIn } from '../../src/client/built-in.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { timerJob } from '../../src/client/timers-overview.ts'
import { defineJob } from '../../src/model/definition.ts'
import type { Gate } from '../harness/in-child.ts'
import { openStore } from './open-store.ts'

const dayMs = 86_400_000
const batch = 2000

/** Fills a store with timers that are due between tomorrow and a month from now. */
export async function fill(url: string, count: number, tenants: number, gate: Gate): Promise<void> {
  await gate()
  const punctual = createPunctual({ store: openStore(url) })
  const job = builtIn(punctual, defineJob(timerJob), { source: 'timer', canRun: false })
  const now = Date.now()
  for (let from = 0; from < count; from += batch) {
    const numbers = Array.from({ length: Math.min(batch, count - from) }, (_, at) => from + at)
    await Promise.all(
      numbers.map((n) =>
        job.enqueue(
          { registeredAt: now },
          {
            tenant: `t${n % tenants}`,
            idempotencyKey: `pending-${n}`,
            runAt: new Date(now + dayMs + ((n * 7919) % 30) * dayMs + n),
            onConflict: 'reschedule',
          },
        ),
      ),
    )
  }
  await punctual.close()
}
