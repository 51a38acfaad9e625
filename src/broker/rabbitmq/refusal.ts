import type { Consumer } from 'rabbitmq-client'
import { PunctualError } from '../../errors.ts'

/** An error with the code of the server, such as `ACCESS_REFUSED`. */
export type ServerError = Error & { readonly code?: string }

/** The error of Punctual for the server's error about a queue or an exchange. */
export function refusalOf(name: string, error: ServerError): Error {
  const { code = '', message } = error
  const text = `RabbitMQ has another ${name}: ${message}`
  if (code === 'PRECONDITION_FAILED' || code === 'RESOURCE_LOCKED' || code === 'NOT_IMPLEMENTED')
    return new PunctualError('broker.invalid', text, { name }, { cause: error })
  if (code !== 'ACCESS_REFUSED') return error
  return new PunctualError('broker.refused', `RabbitMQ refuses ${name} to this user: ${message}`, { name }, { cause: error })
}

/** Resolves when a consumer has messages sent to it. The client tries a consumer that is refused again for ever; here it is closed. */
export async function begun(consumer: Consumer, queue: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  consumer.once('ready', resolve)
  consumer.on('error', reject)
  try {
    await promise
  } catch (error) {
    void consumer.close().catch(() => {})
    throw refusalOf(`queue ${queue}`, error as Error)
  }
}
