// Texts sealed before they reach the store.
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { PunctualError, shown } from '../errors.ts'
import { checkObject, checkOptions } from './limits.ts'
import { sealedParts, sealedText } from './sealed-text.ts'

/** Seals and opens the texts of payloads, results, errors, progress and log lines. Equal texts must be sealed equally under one key. */
export interface Codec {
  seal(text: string): string
  /** The text itself where it is not sealed; null where the key is missing or wrong. */
  open(text: string): string | null
}

/** The options of `aesCodec`. */
export interface AesCodecOptions {
  /** The id of the key that seals. */
  current: string
  /** All keys by their id, those of older records included: 32 bytes each, as bytes, or as text in base64 or hex. */
  keys: Readonly<Record<string, Uint8Array | string>>
}

const ivBytes = 12
const tagBytes = 16

/**
 * A codec with AES-256-GCM. To rotate, add a key and make it `current`; keep the old one for as long as records are sealed with it.
 * @example createPunctual({ store, codec: aesCodec({ current: '2026', keys: { 2026: process.env.PUNCTUAL_KEY } }) })
 */
export function aesCodec(options: AesCodecOptions): Codec {
  checkObject(options, 'options of aesCodec')
  checkOptions(options, ['current', 'keys'], 'aesCodec')
  checkObject(options.keys, 'keys')
  const keys = new Map(Object.entries(options.keys).map(([id, key]) => [checkKeyId(id), keyPair(id, key)]))
  const current = keys.get(options.current)
  if (!current) throw refused('current', `current must be the id of one of the keys; got ${shown(options.current)}`)
  return {
    seal: (text) => sealedText(options.current, encrypt(current, text)),
    open: (text) => {
      const parts = sealedParts(text)
      if (!parts) return text
      const pair = keys.get(parts.keyId)
      return pair ? decrypt(pair, parts.bytes) : null
    },
  }
}

interface KeyPair {
  readonly cipher: Buffer
  /** Makes the nonce from the text, so equal texts are sealed equally and different ones never share a nonce. */
  readonly nonce: Buffer
}

function keyPair(id: string, given: Uint8Array | string): KeyPair {
  const key =
    typeof given === 'string' ? Buffer.from(given, /^[0-9a-f]{64}$/i.test(given) ? 'hex' : 'base64') : Buffer.from(given)
  if (key.length !== 32) throw refused(`keys.${id}`, `keys.${id} must have 32 bytes; it has ${key.length}`)
  const derived = (use: string) => createHmac('sha256', key).update(`punctual ${use}`).digest()
  return { cipher: derived('cipher'), nonce: derived('nonce') }
}

function encrypt({ cipher: key, nonce }: KeyPair, text: string): Buffer {
  const iv = createHmac('sha256', nonce).update(text).digest().subarray(0, ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body])
}

function decrypt({ cipher: key }: KeyPair, bytes: Buffer): string | null {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
    decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8')
  } catch {
    return null
  }
}

function checkKeyId(id: string): string {
  if (/^[\w-]{1,50}$/.test(id)) return id
  throw refused('keys', `the id of a key has 1 to 50 letters, digits, _ or -; got ${shown(id)}`)
}

function refused(field: string, message: string): PunctualError {
  return new PunctualError('option.invalid', message, { field })
}
