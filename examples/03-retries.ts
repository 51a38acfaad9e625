// The effect of a failure: on the task, which is tried again, and on the tasks beside it. Run it with: node examples/03-retries.ts
import { createPunctual, defineJob, type Punctual } from 'punctual'
import { memory } from 'punctual/memory'

// Tried again after 20 ms, then after 40 ms. The wait takes no slot and outlives the process on a store that does.
const flaky = defineJob('flaky', { retry: { max: 3, interval: '20ms', factor: 2 } }).task('call', ({ attempt, fail }) => {
  if (attempt < 3) fail(`no answer at attempt ${attempt}`)
  return 'answered'
})

// fail-fast, the default: a task that has failed for good ends the job, and the tasks after it are canceled.
const strict = defineJob('strict', { retry: { max: 0 } })
  .task('charge', () => {
    throw new Error('card refused')
  })
  .task('ship', () => 'shipped')

// continue: the job goes on without the task. It completes, and the failed task is counted.
const lenient = defineJob('lenient', { retry: { max: 0 } })
  .task('statistics', { onFailure: 'continue' }, () => {
    throw new Error('statistics are down')
  })
  .task('ship', () => 'shipped')

// With `retryable: false` the task is not tried again, however many retries are left.
const hopeless = defineJob('hopeless', { retry: { max: 5 } }).task('read', ({ fail }) =>
  fail('no such file', { retryable: false }),
)

const punctual = createPunctual({ store: memory(), jobs: [flaky, strict, lenient, hopeless] })
await punctual.start()
for (const job of [flaky, strict, lenient, hopeless]) {
  const end = nextEnd(punctual)
  const { id } = await punctual.enqueue(job)
  await end
  const occurrence = await punctual.get(id)
  console.log(`${job.name}: ${occurrence?.state}, failed tasks: ${occurrence?.failedTasks}`)
  for (const task of occurrence?.tasks ?? []) {
    console.log(`  ${task.name}: ${task.state}`)
    for (const { n, state, error } of task.attempts) console.log(`    attempt ${n} ${state}${error ? `: ${error.message}` : ''}`)
  }
}
await punctual.close()

/** Resolves when an occurrence has ended. Enqueued work out of retries waits as `dead` for a person to look at it. */
function nextEnd(punctual: Punctual): Promise<unknown> {
  return new Promise((resolve) => {
    for (const event of ['occurrence.completed', 'occurrence.failed'] as const) punctual.on(event, resolve)
  })
}
