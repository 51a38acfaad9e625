// The built-in jobs of `serve`: messages to a broker, commands from it, and webhooks.
import type { Broker } from '../broker/broker.ts'
import type { Punctual } from '../client/punctual.ts'
import { PunctualError } from '../errors.ts'
import type { Logger } from '../model/context.ts'
import { createWebhooks } from '../outbound/http-job.ts'
import { createPublisher } from '../outbound/publish-job.ts'
import { createJobCommands } from '../timers/job-commands.ts'
import { brokerOfUrl } from './broker-url.ts'

export interface BuiltInOptions {
  readonly broker?: string
  /** The queue of EnqueueJob and CancelJob. */
  readonly commands?: string
  readonly webhookSecret?: string
  /** Whether `punctual/http` may call private networks too. */
  readonly webhookNetworks?: 'public' | 'all'
}

export interface BuiltIns {
  /** Connects the broker. Jobs run without it: while it is away, or refuses the credentials, only its messages wait. */
  start(): void
  /** Takes no more commands. */
  stop(): Promise<void>
  /** Called once the scheduler is closed. */
  close(): Promise<void>
}

/** The broker that the options name; null where they name none. */
export async function namedBroker({ broker, commands }: BuiltInOptions): Promise<Broker | null> {
  if (commands !== undefined && broker === undefined)
    throw new PunctualError('config.invalid', '--commands names a queue of the broker: it needs --broker too', {
      field: 'commands',
    })
  return broker === undefined ? null : brokerOfUrl(broker)
}

/** Registers the jobs that the options ask for. */
export function addBuiltIns(punctual: Punctual, broker: Broker | null, log: Logger, options: BuiltInOptions): BuiltIns {
  const { commands, webhookSecret: secret, webhookNetworks } = options
  if (secret !== undefined) createWebhooks({ punctual, secret, allowPrivate: webhookNetworks === 'all' })
  const publisher = broker && createPublisher({ punctual, broker })
  const intake = broker && commands !== undefined ? createJobCommands({ punctual, broker, commands }) : null
  return {
    start() {
      broker
        ?.open()
        .catch((error: unknown) =>
          log.warn('The broker takes no messages; those for it wait', { error: (error as Error).message }),
        )
      intake?.start()
    },
    async stop() {
      await intake?.stop()
    },
    async close() {
      publisher?.stop()
      await broker?.close()
    },
  }
}
