import type { Punctual } from '../client/punctual.ts'
import { type EventName, type Events, eventNames } from '../model/events.ts'

/** Events as promises: a test awaits an event instead of a delay. */
export interface Probe {
  /** The next event of this name that no earlier call has taken, from the probe's creation on. */
  next<Name extends EventName>(name: Name, where?: (event: Events[Name]) => boolean): Promise<Events[Name]>
  /** All events of this name so far, taken or not. */
  seen<Name extends EventName>(name: Name): readonly Events[Name][]
  /** Stops listening. */
  close(): void
}

interface Waiter {
  readonly where: (event: never) => boolean
  readonly resolve: (event: never) => void
}

interface Channel {
  readonly seen: unknown[]
  untaken: unknown[]
  waiters: Waiter[]
}

/**
 * Listens to all events of a scheduler.
 * @example const { report } = await probe(punctual).next('occurrence.completed', ({ job }) => job === 'invoice')
 */
export function probe(punctual: Pick<Punctual, 'on'>): Probe {
  const channels = new Map<EventName, Channel>(eventNames.map((name) => [name, { seen: [], untaken: [], waiters: [] }]))
  const stops = eventNames.map((name) => punctual.on(name, (event) => hear(channels.get(name) as Channel, event)))
  return {
    next(name, where = () => true) {
      const channel = channels.get(name) as Channel
      const at = channel.untaken.findIndex((event) => where(event as never))
      if (at >= 0) return Promise.resolve(channel.untaken.splice(at, 1)[0] as never)
      return new Promise((resolve) => channel.waiters.push({ where, resolve } as Waiter))
    },
    seen: (name) => (channels.get(name) as Channel).seen as never,
    close: () => stops.forEach((stop) => void stop()),
  }
}

function hear(channel: Channel, event: unknown): void {
  channel.seen.push(event)
  const at = channel.waiters.findIndex(({ where }) => where(event as never))
  if (at < 0) channel.untaken.push(event)
  else channel.waiters.splice(at, 1)[0]?.resolve(event as never)
}
