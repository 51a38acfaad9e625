import { availableParallelism } from 'node:os'
import { expect, it, onTestFinished } from 'vitest'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { memory } from '../../src/store/memory/index.ts'
import { probe } from '../../src/testing/probe.ts'
import { occurrence } from '../support/cluster.ts'

const module = new URL('../support/threads/work.process.ts', import.meta.url)

async function newScene(
  options: { timeout?: string; grace?: string; retries?: number; concurrency?: number; abandonAfter?: string } = {},
) {
  const log: [string, object | undefined][] = []
  const line = (message: string, fields?: object) => void log.push([message, fields])
  const job = defineJob<string>('crunch', { retry: { max: options.retries ?? 1, interval: 1, jitter: 0 } })
    .task('first', () => 'one')
    .task('work', { runIn: 'worker', module, ...(options.timeout && { timeout: options.timeout }) })
  const punctual = createPunctual({
    store: memory(),
    jobs: [job],
    node: { abandonAfter: options.abandonAfter ?? 100 },
    concurrency: options.concurrency ?? 10,
    grace: options.grace ?? '10s',
    log: { debug: line, info: line, warn: line, error: line },
  })
  onTestFinished(() => punctual.close())
  const events = probe(punctual)
  await punctual.start()
  const run = async (payload: string) => (await punctual.enqueue(job, payload)).id
  return { punctual, events, log, run, job }
}

it('a handler in a thread gets its context, and its result is recorded', async () => {
  const { punctual, events, run } = await newScene()
  const id = await run('results')
  await events.next('occurrence.completed')
  expect((await occurrence(punctual, id)).result).toEqual({
    results: { first: 'one' },
    isMainThread: false,
    attempt: 1,
  })
})

it('progress and log lines of a thread arrive before its result', async () => {
  const { events, log, run } = await newScene()
  const id = await run('report')
  expect(await events.next('task.progress')).toMatchObject({ id, done: 0.5, message: 'half' })
  await events.next('occurrence.completed')
  expect(log).toContainEqual(['from the thread', expect.objectContaining({ occurrence: id, attempt: 1 })])
})

it('a throw in a thread is a failed attempt, with its code and whether it is final', async () => {
  const { punctual, events, run } = await newScene()
  const thrown = await run('throw')
  await events.next('occurrence.completed', ({ id }) => id === thrown)
  expect((await occurrence(punctual, thrown)).tasks[1]?.attempts).toMatchObject([
    { state: 'failed', error: { name: 'TypeError', message: 'odd', code: 'E_ODD' } },
    { state: 'succeeded' },
  ])
  const failed = await run('fail')
  await events.next('occurrence.failed', ({ id }) => id === failed)
  expect((await occurrence(punctual, failed)).tasks[1]?.attempts).toMatchObject([{ error: { message: 'no luck' } }])
  const refused = await run('transaction')
  await events.next('occurrence.failed', ({ id }) => id === refused)
  expect((await occurrence(punctual, refused)).error).toMatchObject({ code: 'transaction.unsupported' })
})

it('a handler in a thread hears of a cancel', async () => {
  const { punctual, events, log, run } = await newScene()
  const id = await run('polite')
  await events.next('task.progress')
  expect(await punctual.cancel(id)).toBe('canceling')
  await events.next('occurrence.canceled')
  expect(log).toContainEqual(['asked to stop', expect.objectContaining({ code: 'cancel' })])
})

it('an endless loop in a thread times out, is terminated, and the node goes on', async () => {
  const { punctual, events, run } = await newScene({ timeout: '300ms' })
  const id = await run('endless')
  await events.next('occurrence.failed')
  expect((await occurrence(punctual, id)).tasks[1]?.attempts.map(({ state }) => state)).toEqual(['timeout', 'timeout'])
  expect(events.seen('node.fenced')).toEqual([])
  const next = await run('report')
  await events.next('occurrence.completed', (one) => one.id === next)
})

it('the wait for a free thread is no part of the timeout', async () => {
  const { punctual, events, job } = await newScene({ retries: 0, concurrency: availableParallelism() + 1 })
  // They keep all threads for longer than the next may take.
  for (let n = 0; n < availableParallelism(); n++) await punctual.enqueue(job, 'polite', { timeout: '1500ms' })
  for (let n = 0; n < availableParallelism(); n++) await events.next('task.progress')
  const { id } = await punctual.enqueue(job, 'report', { timeout: '1s' })
  await events.next('occurrence.completed', (one) => one.id === id)
})

it('work that waits for a thread is canceled at once', async () => {
  const { punctual, events, job } = await newScene({ concurrency: availableParallelism() + 1, abandonAfter: '1h' })
  for (let n = 0; n < availableParallelism(); n++) await punctual.enqueue(job, 'polite')
  for (let n = 0; n < availableParallelism(); n++) await events.next('task.progress')
  const { id } = await punctual.enqueue(job, 'report')
  await events.next('task.started', (one) => one.id === id && one.task === 'work')
  await punctual.cancel(id)
  await events.next('occurrence.canceled', (one) => one.id === id)
})

it('close() ends threads that do not stop', async () => {
  const { punctual, events, run } = await newScene({ grace: '50ms' })
  await run('endless')
  await events.next('task.started', ({ task }) => task === 'work')
  await punctual.close()
})

it.each([
  [{ runIn: 'worker' }, undefined, /needs module/],
  [{ runIn: 'worker', module: './x.js' }, undefined, /needs module/],
  [{ module }, undefined, /set runIn: 'worker'/],
  [{ runIn: 'worker', module }, () => 1, /leave the function out/],
])('%j is refused', (options, handler, message) => {
  expect(() => defineJob('crunch').task('work', options as object, handler)).toThrow(message)
})
