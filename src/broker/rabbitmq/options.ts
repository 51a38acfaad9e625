import type { ConnectionOptions } from 'rabbitmq-client'
import { checkOneOf, checkOptions, checkWhole } from '../../model/limits.ts'

/** The options of `rabbitmq`. */
export interface RabbitmqOptions {
  /** `amqp://user:password@host:5672/vhost`. */
  url?: string
  /** More for the client of `rabbitmq-client`: TLS, several hosts. */
  connection?: ConnectionOptions
  /**
   * The type of the queues that are made. Default `quorum`, which a cluster copies to several servers. `classic` suits a single server. A
   * server of RabbitMQ 3.10 that is killed just after a queue was made may forget the queue, of either type.
   */
  queueType?: 'quorum' | 'classic'
  /** The largest body, in bytes. Default 16 MiB. */
  maxBytes?: number
}

export interface ParsedRabbitmqOptions {
  readonly connection: ConnectionOptions
  /** The address without credentials. */
  readonly shownUrl: string
  readonly queueType: 'quorum' | 'classic'
  readonly maxBytes: number
}

export function parseRabbitmqOptions(given: string | RabbitmqOptions): ParsedRabbitmqOptions {
  const options: RabbitmqOptions = typeof given === 'string' ? { url: given } : given
  checkOptions(options, ['url', 'connection', 'queueType', 'maxBytes'], 'rabbitmq')
  const { url = 'amqp://guest:guest@127.0.0.1:5672', connection, maxBytes = 16 * 2 ** 20 } = options
  return {
    connection: { url, connectionName: 'punctual', retryLow: 250, retryHigh: 2000, heartbeat: 10, ...connection },
    shownUrl: url.replace(/\/\/[^@/]*@/, '//'),
    queueType: checkOneOf<'quorum' | 'classic'>(options.queueType ?? 'quorum', 'queueType', ['quorum', 'classic']),
    maxBytes: checkWhole(maxBytes, 'maxBytes', 1, 2 ** 29),
  }
}
