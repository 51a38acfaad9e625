import type { Broker, Channel } from '../broker/broker.ts'
import { checkMessage } from '../broker/check.ts'
import { type BuiltIn, builtIn } from '../client/built-in.ts'
import type { Punctual } from '../client/punctual.ts'
import { PunctualError, shown } from '../errors.ts'
import type { Context } from '../model/context.ts'
import { defineJob } from '../model/definition.ts'
import { checkObject, checkOptions } from '../model/limits.ts'
import { publishJob } from '../model/publish.ts'
import { checkedSchema } from './checked-schema.ts'
import { Outlet } from './outlet.ts'

/** The payload of `punctual/publish`. */
export interface PublishPayload {
  /** The name of the channel. */
  readonly channel: string
  /** Default `topic`. */
  readonly kind?: Channel['kind']
  /** The message as JSON; a text is sent as it is. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the occurrence's id, so a repeated attempt has the same. */
  readonly id?: string
}

/** A scheduler's way to publish messages: the built-in job `punctual/publish`. */
export interface Publisher {
  /** Why messages wait at present; null while the broker takes them. */
  readonly away: { readonly reason: string; readonly since: Date } | null
  /** Stops watching the broker. Close it yourself. */
  stop(): void
}

/**
 * Lets jobs that are made without code publish to a broker, as `punctual/publish`. While the broker is away they wait, and no retry is counted.
 * @example createPublisher({ punctual, broker }); await punctual.enqueue('punctual/publish', { channel: 'orders', body: { id: 42 } })
 */
export function createPublisher({ punctual, broker }: { punctual: Punctual; broker: Broker }): Publisher {
  let job: BuiltIn
  const outlet = new Outlet(broker, () => job, { closesOn: ['unreachable'] })
  const definition = defineJob<PublishPayload>(
    publishJob,
    { payload: checkedSchema(checkPublishPayload), retry: { max: 10, interval: '1s', factor: 2, maxInterval: '5m' } },
    (ctx) => publish(outlet, ctx),
  )
  job = builtIn(punctual, definition)
  return {
    get away() {
      const { away } = outlet
      return away && { reason: away.reason, since: new Date(away.since) }
    },
    stop: () => outlet.stop(),
  }
}

async function publish(outlet: Outlet, { payload, occurrenceId }: Context<PublishPayload>): Promise<void> {
  const { channel: name, kind = 'topic', body, headers = {}, id = occurrenceId } = payload
  await outlet.send({
    channel: { name, kind },
    id,
    headers: { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

function checkPublishPayload(payload: unknown): PublishPayload {
  checkObject(payload, 'payload')
  checkOptions(payload, ['channel', 'kind', 'body', 'headers', 'id'], 'payload')
  const { channel, kind = 'topic', body, headers, id = 'id' } = payload as PublishPayload
  if (body === undefined) throw new PunctualError('option.invalid', `body is missing; got ${shown(body)}`, { field: 'body' })
  if (headers !== undefined) checkObject(headers, 'headers')
  checkMessage({ channel: { name: channel, kind }, id, ...(headers && { headers }), body: '' })
  return payload as PublishPayload
}
