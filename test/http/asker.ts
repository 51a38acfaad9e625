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

interface Question extends HandlerOptions {
  method?: string
  headers?: Record<string, string>
}

/** Asks the handler of a scheduler as a client does. */
export function asker(punctual: () => Punctual) {
  return async (path: string, { method = 'GET', headers = {}, ...options }: Question = {}) => {
    const handle = createHandler(punctual(), { log: silent, ...options })
    const response = await handle(new Request(`http://localhost${path}`, { method, headers }))
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== ''
    return { response, status: response.status, text, body: isJson ? JSON.parse(text) : undefined }
  }
}
