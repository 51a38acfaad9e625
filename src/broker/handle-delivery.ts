import { PunctualError } from '../errors.ts'
import type { Delivery, DeliveryHandler } from './broker.ts'

const firstWaitMs = 500
const longestWaitMs = 60_000

/** Calls a handler. One that throws has its message delivered again, each time after twice the wait. Never throws itself. */
export async function handleDelivery(given: Delivery, handler: DeliveryHandler): Promise<void> {
  const delivery = answeredOnce(given)
  try {
    await handler(delivery)
  } catch {
    await delivery.retry(Math.min(firstWaitMs * 2 ** (delivery.attempt - 1), longestWaitMs)).catch(() => {})
  }
}

/** Refuses a second answer, unless the first has failed. */
function answeredOnce(delivery: Delivery): Delivery {
  let isAnswered = false
  const once = async (answer: () => Promise<void>) => {
    if (isAnswered) throw new PunctualError('broker.invalid', 'A delivery is answered once')
    isAnswered = true
    try {
      await answer()
    } catch (error) {
      isAnswered = false
      throw error
    }
  }
  return {
    ...delivery,
    ack: () => once(() => delivery.ack()),
    retry: (afterMs) => once(() => delivery.retry(afterMs)),
    terminate: (reason) => once(() => delivery.terminate(reason)),
  }
}
