// The shop around the jobs: how long its work takes, and a payment gateway that is down for a while. The seed lets days pass in
// seconds, so work sleeps by whatever clock is set here.
import { setTimeout as sleep } from 'node:timers/promises'

export interface World {
  /** Takes this long, and stops early when the signal aborts. */
  work(ms: number, signal: AbortSignal): Promise<void>
  now(): number
  /** When the payment gateway refuses connections. */
  isGatewayDown(): boolean
  /** When the gateway takes a charge and does not answer. */
  isGatewayHanging(): boolean
}

const outageMs = 10 * 60_000
const startedAt = Date.now()

export const world: { current: World } = {
  current: {
    work: async (ms, signal) => void (await sleep(ms, undefined, { signal })),
    now: () => Date.now(),
    isGatewayDown: () => Date.now() - startedAt < outageMs,
    isGatewayHanging: () => false,
  },
}

/** The same number from 0 to below 1 for the same text: the shop is the same at every start. */
export function chance(text: string): number {
  let hash = 2166136261
  for (const letter of text) hash = Math.imul(hash ^ letter.charCodeAt(0), 16777619)
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507)
  return ((hash ^ (hash >>> 13)) >>> 0) / 4294967296
}
