import { createPunctual, defineJob, interval, type Punctual } from 'punctual'
import { createHandler, type HandlerOptions } from 'punctual/http'
import { memory } from 'punctual/memory'

export const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

export const echo = defineJob<{ text: string }>('echo').task('say', ({ payload }) => payload.text)
export const broken = defineJob('broken', { retry: { max: 0 } }).task('fall', () => {
  throw new Error('it fell')
})
const later = defineJob('later', { schedule: interval('PT1H') }).task('run', () => {})

/** A scheduler with a few jobs that is not started; `runDue` runs what it has. */
export function newPunctual(): Punctual {
  return createPunctual({ store: memory(), jobs: [echo, broken, later], log: silent })
}

export interface Question extends HandlerOptions {
  method?: string
  headers?: Record<string, string>
  body?: unknown
}

/** Asks the handler of a scheduler as a client does, by default one that is open to all. */
export function asker(punctual: () => Punctual) {
  return async (path: string, { method, headers = {}, body, ...options }: Question = {}) => {
    const isGuarded = options.authenticate !== undefined || options.proxy !== undefined || options.open !== undefined
    const handle = createHandler(punctual(), { log: silent, ...(!isGuarded && { open: true }), ...options })
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const request = new Request(`http://localhost${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(text !== undefined && { body: text }),
    })
    return answerOf(await handle(request))
  }
}

export async function answerOf(response: Response) {
  const text = await response.text()
  const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '') && text !== ''
  return { response, status: response.status, text, body: isJson ? JSON.parse(text) : undefined }
}
