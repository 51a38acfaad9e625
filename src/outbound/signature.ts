import { createHmac, timingSafeEqual } from 'node:crypto'
import { systemClock } from '../time/clock.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'

/** The header that carries the signature of a webhook. */
export const signatureHeader = 'punctual-signature'

/** A signature over the time and the body, as the header has it. */
export function signatureOf(secret: string, atMs: number, body: string): string {
  const seconds = Math.floor(atMs / 1000)
  return `t=${seconds},v1=${hmac(secret, seconds, body)}`
}

/**
 * Whether a request came from a scheduler with this secret, not long ago, and unchanged. Give the body as it arrived, not parsed and written again.
 * @example if (!verifySignature({ secret, header: request.headers.get('punctual-signature'), body })) return new Response(null, { status: 401 })
 */
export function verifySignature({
  secret,
  header,
  body,
  tolerance = '5m',
}: {
  secret: string
  header: string | null | undefined
  body: string
  /** How old a signature may be. Default 5 minutes. */
  tolerance?: DurationInput
}): boolean {
  const [, time, given] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header ?? '') ?? []
  if (time === undefined || given === undefined) return false
  const ageMs = Math.abs(systemClock.wall() - Number(time) * 1000)
  const expected = Buffer.from(hmac(secret, Number(time), body), 'hex')
  return timingSafeEqual(expected, Buffer.from(given, 'hex')) && ageMs <= parseDuration(tolerance, 'tolerance')
}

function hmac(secret: string, seconds: number, body: string): string {
  return createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex')
}
