import { createHash } from 'node:crypto'
import type { Delivery } from '../broker/broker.ts'
import { headerText } from '../broker/check.ts'
import { type BuiltIn, builtIn } from '../client/built-in.ts'
import type { Punctual } from '../client/punctual.ts'
import { poisonJob } from '../client/timers-overview.ts'
import { defineJob } from '../model/definition.ts'

interface PoisonPayload {
  readonly channel: string
  readonly reason: string
  /** The first characters of the message. */
  readonly body: string
  readonly messageId: string | null
}

const keptCharacters = 8000

const definition = defineJob<PoisonPayload>(poisonJob, { retry: { max: 0 }, deadLetter: false }, ({ payload, fail }) =>
  fail(payload.reason, { retryable: false }),
)

/** Keeps poison in the store, as a failed run with the reason, until retention removes it. */
export class PoisonBook {
  readonly #job: BuiltIn

  constructor(punctual: Punctual) {
    this.#job = builtIn(punctual, definition)
  }

  async keep({ id, body }: Delivery, channel: string, reason: string): Promise<void> {
    const hash = createHash('sha256').update(channel).update('\0').update(body).digest('hex')
    const text = new TextDecoder().decode(body.subarray(0, keptCharacters))
    const payload: PoisonPayload = {
      channel,
      reason: storable(reason),
      body: storable(text),
      messageId: id === null ? null : headerText(id),
    }
    await this.#job.enqueue(payload, { idempotencyKey: hash })
  }
}

/** A text that every store keeps. The reason may quote the message, and cut it anywhere. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
