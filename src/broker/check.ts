import { PunctualError, shown } from '../errors.ts'
import { checkChannelName } from '../model/publish.ts'
import type { Channel, OutMessage } from './broker.ts'

const headerPattern = /^[A-Za-z0-9-]{1,100}$/
const mostHeaderLength = 4096
/** Of all headers together: with the properties of a message they are one frame of RabbitMQ, of 8,192 bytes. */
export const mostHeaderBytes = 6000

/** Checks a channel. */
export function checkChannel({ name, kind }: Channel, field = 'channel'): void {
  checkChannelName(name, field)
  if (kind !== 'queue' && kind !== 'topic')
    throw new PunctualError('option.invalid', `kind of ${field} must be queue or topic; got ${shown(kind)}`, { field })
}

/** Checks a message before any part of it is sent. `cc`, `bcc` and names that begin with `nats-` or `x-` are instructions to brokers. */
export function checkMessage({ channel, id, headers = {} }: OutMessage): void {
  checkChannel(channel)
  if (typeof id !== 'string' || id.length === 0 || id.length > 200 || hasControl(id))
    throw new PunctualError('key.invalid', `id of a message must be 1 to 200 printable characters; got ${shown(id)}`, {
      field: 'id',
      max: 200,
    })
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value)
  const bytes = headerBytes(Object.entries(headers))
  if (bytes > mostHeaderBytes)
    throw new PunctualError('option.invalid', `headers must be at most ${mostHeaderBytes} bytes together; got ${bytes}`, {
      field: 'headers',
      max: mostHeaderBytes,
    })
}

function checkHeader(name: string, value: unknown): void {
  if (!headerPattern.test(name) || /^(nats-|x-|b?cc$)/i.test(name))
    throw new PunctualError(
      'name.invalid',
      `The name of a header must be letters, digits and -, not cc or bcc, and not begin with nats- or x-; got ${shown(name)}`,
      { field: 'headers' },
    )
  if (typeof value !== 'string' || value.length > mostHeaderLength || hasControl(value))
    throw new PunctualError(
      'option.invalid',
      `headers.${name} must be text of at most ${mostHeaderLength} characters without control characters; got ${shown(value)}`,
      { field: `headers.${name}`, max: mostHeaderLength },
    )
}

/** The room that headers take, with what brokers add to each. */
function headerBytes(headers: readonly (readonly [string, string])[]): number {
  return headers.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value) + 8, 0)
}

/** The headers of another sender, in their order, as many as have room in so many bytes. */
export function headersWithin(bytes: number, given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  let room = bytes
  const fits = (header: readonly [string, string]) => {
    const size = headerBytes([header])
    if (size > room) return false
    room -= size
    return true
  }
  return Object.fromEntries(Object.entries(given).filter(fits))
}

/** A text as the value of a header: what is not printable ASCII is percent-encoded, as `decodeURIComponent` reads it. */
export function headerText(text: string): string {
  return text
    .slice(0, 1000)
    .replace(/[^ -$&-~]/gu, (character) => encodeURIComponent(character.isWellFormed() ? character : '\ufffd'))
}

function hasControl(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not be there
  return /[\u0000-\u001f\u007f]/.test(text)
}
