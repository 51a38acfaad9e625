import { limits } from '../../model/limits.ts'
import { Refusal } from '../problem.ts'

const mostKeys = 10_000

/** The JSON of a request; an empty object where there is no body. */
export async function readBody(request: Request, mostBytes: number): Promise<unknown> {
  const text = await readText(request, mostBytes)
  if (text === '') return {}
  const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== 'application/json')
    throw new Refusal('request.unsupported', 'A body must be JSON, with the content type application/json', {
      given: type?.slice(0, 100) ?? null,
    })
  if (request.headers.get('content-encoding')) throw new Refusal('request.unsupported', 'A body must not be compressed')
  return checked(parsed(text))
}

async function readText(request: Request, mostBytes: number): Promise<string> {
  const tooLarge = () => new Refusal('request.too-large', `A body has at most ${mostBytes} bytes`, { most: mostBytes })
  if (Number(request.headers.get('content-length') ?? 0) > mostBytes) throw tooLarge()
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
    throw new Refusal('request.invalid', 'The body is not readable as UTF-8')
  }
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
