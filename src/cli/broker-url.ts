import type { Broker } from '../broker/broker.ts'
import { local } from '../broker/local/index.ts'
import { PunctualError } from '../errors.ts'

/** The broker that a URL names. Its client is for those to install who use it. */
export async function brokerOfUrl(url: string): Promise<Broker> {
  const scheme = /^(\w+):/.exec(url)?.[1]
  if (scheme === 'nats' || scheme === 'tls') {
    const { nats } = await loaded('@nats-io/transport-node and @nats-io/jetstream', () => import('../broker/nats/index.ts'))
    return nats(url)
  }
  if (scheme === 'amqp' || scheme === 'amqps') {
    const { rabbitmq } = await loaded('rabbitmq-client', () => import('../broker/rabbitmq/index.ts'))
    return rabbitmq(url)
  }
  if (scheme === 'local') return local()
  throw new PunctualError(
    'config.invalid',
    `A broker is named by nats://host:4222, amqp://user:password@host:5672 or local: for a trial; got ${JSON.stringify(shownBrokerUrl(url))}`,
    { field: 'broker' },
  )
}

/** A broker's URL as it may be shown. */
export function shownBrokerUrl(url: string): string {
  return url.replace(/\/\/[^@/]*@/g, '//')
}

async function loaded<Module>(packages: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new PunctualError('config.invalid', `This broker needs ${packages}: npm install ${packages.replace(' and', '')}`, {
      field: 'broker',
    })
  }
}
