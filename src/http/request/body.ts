import { limits } from '../../model/limits.ts'
import { Refusal } from '../problem.ts'

const mostKeys = 10_000

/** The JSON of a request; an empty object where there is no body. */
export async function readBody(request: Request, mostBytes: number): Promise<unknown> {
  if (Number(request.headers.get('content-length')) > 0) checkType(request)
  const text = await readText(request, mostBytes)
  if (text === '') return {}
  checkType(request)
  return checked(parsed(text))
}

function checkType({ headers }: Request): void {
  const [type, ...parameters] = (headers.get('content-type') ?? '').split(';').map((part) => part.trim().toLowerCase())
  if (type !== 'application/json')
    throw new Refusal('request.unsupported', 'A body must be JSON, with the content type application/json', {
      given: type ? type.slice(0, 100) : null,
    })
  const charset = parameters
    .find((one) => one.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '')
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8')
    throw new Refusal('request.unsupported', 'A body must be UTF-8', { given: charset.slice(0, 100) })
  const encoding = headers.get('content-encoding') ?? ''
  if (!/^(identity)?$/i.test(encoding)) throw new Refusal('request.unsupported', 'A body must not be compressed')
}

async function readText(request: Request, mostBytes: number): Promise<string> {
  const tooLarge = () => new Refusal('request.too-large', `A body has at most ${mostBytes} bytes`, { most: mostBytes })
  const length = Number(request.headers.get('content-length') ?? Number.NaN)
  if (length > mostBytes) throw tooLarge()
  if (length === 0) return ''
  if (length > 0) return wholeText(request, mostBytes, tooLarge)
  if (!request.body) return ''
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let bytes = 0
  try {
    for await (const chunk of request.body) {
      bytes += chunk.byteLength
      if (bytes > mostBytes) throw tooLarge()
      text += decoder.decode(chunk, { stream: true })
    }
    return text + decoder.decode()
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw unreadable()
  }
}

/** A body whose size the server has checked: read at once, which costs a third of a stream. */
async function wholeText(request: Request, mostBytes: number, tooLarge: () => Refusal): Promise<string> {
  let bytes: ArrayBuffer
  try {
    bytes = await request.arrayBuffer()
  } catch {
    throw unreadable()
  }
  if (bytes.byteLength > mostBytes) throw tooLarge()
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw unreadable()
  }
}

function unreadable(): Refusal {
  return new Refusal('request.invalid', 'The body is not readable as UTF-8')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal('request.invalid', 'The body is not JSON', { field: 'body' })
  }
}

/** Refuses what no payload may be: too deep, too many fields, names that change an object, text that no store can hold. */
function checked(body: unknown): unknown {
  let keys = 0
  const walk = (value: unknown, depth: number): void => {
    if (typeof value === 'string' && (!value.isWellFormed() || value.includes('\0')))
      throw new Refusal('request.invalid', 'The body holds text that is not well-formed Unicode, or a NUL', { field: 'body' })
    if (typeof value !== 'object' || value === null) return
    if (depth > limits.jsonDepth + 4)
      throw new Refusal('request.invalid', `The body is nested deeper than ${limits.jsonDepth} levels`, { field: 'body' })
    for (const [name, inner] of Object.entries(value)) {
      if (++keys > mostKeys)
        throw new Refusal('request.too-large', `The body has more than ${mostKeys} fields`, { most: mostKeys })
      if (name === '__proto__' || (name === 'constructor' && typeof inner === 'object' && inner !== null && 'prototype' in inner))
        throw new Refusal('request.invalid', `The body must not have a field ${name}`, { field: name })
      walk(name, depth)
      walk(inner, depth + 1)
    }
  }
  walk(body, 1)
  return body
}
