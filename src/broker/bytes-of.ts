const encoder = new TextEncoder()

/** The bytes of a body. */
export function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? encoder.encode(body) : body
}
