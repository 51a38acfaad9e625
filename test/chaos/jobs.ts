import { existsSync } from 'node:fs'
import { defineJob } from '../../src/model/definition.ts'
import { say } from './say.ts'

/** Three tasks; the second stays until its process is killed, on its first try. */
export const steps = defineJob('steps', { retry: { max: 0 } })
  .task('one', () => 'first')
  .task('two', ({ attempt, results }) =>
    attempt === 1 ? new Promise<string>(() => {}) : Promise.resolve(`${results.one} second`),
  )
  .task('three', ({ results }) => `${results.two} third`)

/** Short work for many. */
export const share = defineJob('share').task(
  'only',
  ({ payload }) => new Promise((resolve) => setTimeout(() => resolve(payload), 20)),
)

/** Runs until its signal, on its first try. */
export const hold = defineJob('hold').task('only', ({ signal, attempt }) =>
  attempt > 1 ? Promise.resolve(attempt) : untilTold(signal),
)

/** Holds up its whole process until the file named by the payload is there, and then waits to be told; on its first try. */
export const block = defineJob<string>('block').task('only', ({ attempt, signal, payload }) => {
  if (attempt > 1) return Promise.resolve(attempt)
  blockUntil(payload)
  return untilTold(signal)
})

/** Holds up its whole process until the file named by the payload is there. */
export const crunch = defineJob<string>('crunch').task('only', ({ attempt, payload }) => {
  blockUntil(payload)
  return attempt
})

function blockUntil(path: string): void {
  const never = new Int32Array(new SharedArrayBuffer(4))
  while (!existsSync(path)) Atomics.wait(never, 0, 0, 10)
}

/** Ignores its signal and reports success; on its first try. */
export const stubborn = defineJob('stubborn').task('only', async ({ attempt, signal, progress }) => {
  if (attempt > 1) return 'elsewhere'
  await untilTold(signal).catch(() => {})
  progress(0.9, 'late')
  return 'late'
})

/** Short work that has to share a key. */
export const limited = defineJob('limited', { concurrency: { key: 'narrow', limit: 2 } }).task('only', () => 'done')

function untilTold(signal: AbortSignal): Promise<number> {
  return new Promise((_, reject) => {
    const alive = setInterval(() => {}, 1000)
    signal.addEventListener('abort', () => {
      clearInterval(alive)
      say('aborted', { code: signal.reason.code })
      reject(signal.reason)
    })
  })
}
