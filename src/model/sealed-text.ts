// The form of sealed texts: `sealed.1.<key id>.<base64url>`. No JSON text begins like that.
import { PunctualError } from '../errors.ts'

const prefix = 'sealed.1.'

export function isSealed(text: string): boolean {
  return text.startsWith(prefix)
}

export function sealedText(keyId: string, bytes: Buffer): string {
  return `${prefix}${keyId}.${bytes.toString('base64url')}`
}

/** The key id and the bytes of a sealed text; null for any other text. */
export function sealedParts(text: string): { readonly keyId: string; readonly bytes: Buffer } | null {
  if (!isSealed(text)) return null
  const at = text.indexOf('.', prefix.length)
  return at === -1 ? null : { keyId: text.slice(prefix.length, at), bytes: Buffer.from(text.slice(at + 1), 'base64url') }
}

/** The error of a reader that cannot open a sealed text. The record stays as it is. */
export function missingKey(text: string): PunctualError {
  const keyId = sealedParts(text)?.keyId ?? ''
  return new PunctualError(
    'codec.key-missing',
    `The value is sealed with the key ${JSON.stringify(keyId)}, which this process lacks or has wrong; add it to the keys of codec`,
    { keyId },
  )
}
