// The handler of the provider's webhook. It comes twice, or never: the event's id is the idempotency key, so the second one finds the
// work of the first, and the ticks do the rest.
import type { Punctual } from 'punctual'
import type { billingJobs } from './jobs.ts'
import type { PaymentEvent } from './provider.ts'

export async function onPayment(
  punctual: Punctual,
  { payment }: Pick<ReturnType<typeof billingJobs>, 'payment'>,
  { id, invoice }: PaymentEvent,
): Promise<void> {
  await punctual.enqueue(payment, { invoice }, { idempotencyKey: id })
}
