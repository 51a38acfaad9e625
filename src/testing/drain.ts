import type { Punctual } from '../client/punctual.ts'

/** Resolves when a started scheduler has run everything that is due by its store's clock. Later work stays. */
export function drain(punctual: Punctual): Promise<void> {
  return punctual.idle()
}
