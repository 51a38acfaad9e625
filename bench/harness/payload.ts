/** The payload of every job: 100 bytes of JSON. */
export interface Payload {
  /** Which job it is, from 0. */
  readonly n: number
  /** The moment that its start is compared with. */
  readonly at: number
  readonly pad: string
}

const bytes = 100

export function payload(n: number, at = 0): Payload {
  const bare = JSON.stringify({ n, at, pad: '' }).length
  return { n, at, pad: 'x'.repeat(Math.max(0, bytes - bare)) }
}
