import { PunctualError, shown } from '../errors.ts'
import { checkObject, checkOneOf, checkOptions } from './limits.ts'

/** The name of the built-in job that publishes a message. */
export const publishJob = 'punctual/publish'

export const publishedEvents = [
  'occurrence.completed',
  'occurrence.failed',
  'occurrence.canceled',
  'occurrence.skipped',
  'occurrence.missed',
  'job.paused',
  'job.resumed',
] as const

/** An event of a job that can be published. `occurrence.failed`: also of work that is dead now. */
export type PublishedEvent = (typeof publishedEvents)[number]

/** Where the events of a job are published. */
export interface PublishOptions {
  /** The name of the channel. */
  channel: string
  /** Default `topic`. */
  kind?: 'queue' | 'topic'
  /** Default: all. */
  on?: readonly PublishedEvent[]
}

/** The outlet of a job's events, as stores keep it. */
export interface Outlet {
  readonly channel: string
  readonly kind: 'queue' | 'topic'
  readonly on?: readonly PublishedEvent[]
}

const channelPattern = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/

/** Checks the name of a channel: nothing in it means anything to a broker, such as the wildcards of NATS and RabbitMQ. */
export function checkChannelName(name: unknown, field: string): string {
  if (typeof name === 'string' && name.length <= 100 && channelPattern.test(name)) return name
  throw new PunctualError(
    'name.invalid',
    `${field} must be letters, digits, _ and -, in parts joined by dots, at most 100 characters; got ${shown(name)}`,
    { field, max: 100 },
  )
}

/** The outlet as JSON text: equal ones have equal texts. */
export function outletText(given: string | PublishOptions): string {
  const options: PublishOptions = typeof given === 'string' ? { channel: given } : given
  checkObject(options, 'publish')
  checkOptions(options, ['channel', 'kind', 'on'], 'publish')
  const { kind = 'topic', on } = options
  const channel = checkChannelName(options.channel, 'publish.channel')
  checkOneOf(kind, 'publish.kind', ['queue', 'topic'])
  if (on === undefined) return JSON.stringify({ channel, kind } satisfies Outlet)
  if (!Array.isArray(on) || on.length === 0)
    throw new PunctualError('option.invalid', `publish.on must be a list of events; got ${shown(on)}`, { field: 'publish.on' })
  for (const event of on) checkOneOf(event, 'publish.on', publishedEvents)
  return JSON.stringify({ channel, kind, on: publishedEvents.filter((event) => on.includes(event)) } satisfies Outlet)
}
