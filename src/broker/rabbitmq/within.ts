// Waits for answers, which a server that is away never gives.
import type { Connection } from 'rabbitmq-client'
import { PunctualError } from '../../errors.ts'
import { systemClock } from '../../time/clock.ts'

const answerMs = 5000
/** Unanswered messages come again, so a stop does not wait long. */
const closeMs = 2000

export async function within<Value>(work: Promise<Value>, otherwise: string, ms = answerMs): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>()
  const cancel = systemClock.timer(ms, () => reject(new PunctualError('broker.unreachable', `${otherwise} within ${ms} ms`)))
  try {
    return await Promise.race([work, promise])
  } finally {
    cancel()
    promise.catch(() => {})
  }
}

/** Resolves when a part of the connection is closed: at once while the connection is down, since the client waits for another one. */
export async function closed({ ready }: Connection, closing: Promise<unknown>): Promise<void> {
  const settled = closing.catch(() => {})
  if (ready) await within(settled, 'not closed', closeMs).catch(() => {})
}
