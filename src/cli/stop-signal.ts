import process from 'node:process'
import type { Punctual } from '../client/punctual.ts'

/** Aborts at the first SIGINT or SIGTERM, or when a node that drains has ended its work. At the second signal the process ends at once. */
export function stopSignal(punctual: Punctual): AbortSignal {
  const stop = new AbortController()
  let signals = 0
  const hear = () => (++signals > 1 ? process.exit(130) : stop.abort())
  process.on('SIGINT', hear).on('SIGTERM', hear)
  const end = () => stop.abort()
  punctual.on('node.draining', () => punctual.idle().then(end, end))
  return stop.signal
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  )
}
