// A handler for threads: what it does is its payload.
import { isMainThread } from 'node:worker_threads'
import type { Context } from '../../../src/model/context.ts'

export async function handler({ payload, attempt, log, progress, fail, signal, results, transaction }: Context<string>) {
  if (payload === 'results') return { results, isMainThread, attempt }
  if (payload === 'report') {
    log.warn('from the thread', { attempt })
    progress(0.5, 'half')
    return 'reported'
  }
  if (payload === 'fail') fail('no luck', { retryable: false })
  if (payload === 'throw' && attempt === 1) throw Object.assign(new TypeError('odd'), { code: 'E_ODD' })
  if (payload === 'transaction') await transaction(() => 1)
  // A promise alone would not keep the thread busy.
  if (payload === 'polite')
    await new Promise((_, reject) => {
      progress(0.1)
      const alive = setInterval(() => {}, 1000)
      signal.addEventListener('abort', () => {
        clearInterval(alive)
        log.warn('asked to stop', { code: signal.reason.code })
        reject(signal.reason)
      })
    })
  if (payload === 'break') {
    progress(0.1)
    setImmediate(() => {
      throw new Error('broken')
    })
    await new Promise(() => setInterval(() => {}, 1000))
  }
  if (payload === 'endless') {
    progress(0.1)
    // The message is on its way, and nothing else ever is.
    for (;;);
  }
  return attempt
}
