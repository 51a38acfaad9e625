// Tasks that run at the same time, and one that waits for them. Run it with: node examples/02-parallel.ts
import { createPunctual, defineJob, type ExecutionReport } from 'punctual'
import { memory } from 'punctual/memory'

// Tasks run one after another, unless the job says `mode: 'parallel'` or a task says `after`. Then they are a graph: what
// waits for nothing starts at once, and `results` holds what the named tasks returned, with their types.
const bothStarted = meetingOf(2)
const report = defineJob('report', { mode: 'graph' })
  .task('sales', async () => {
    await bothStarted()
    return [120, 80]
  })
  .task('costs', async () => {
    await bothStarted()
    return [50, 30, 20]
  })
  .task('profit', { after: ['sales', 'costs'] }, ({ results }) => sum(results.sales) - sum(results.costs))

const punctual = createPunctual({ store: memory(), jobs: [report] })
const done = new Promise<ExecutionReport>((resolve) => punctual.on('occurrence.completed', ({ report }) => resolve(report)))
await punctual.start()
const { id } = await punctual.enqueue(report)

const { mode, tasks } = await done
console.log(`The tasks ran as a ${mode}:`)
for (const { task, state, attempts } of tasks) console.log(`  ${task.padEnd(6)} ${state} after ${attempts} attempt`)

const occurrence = await punctual.get(id)
for (const { name, result } of occurrence?.tasks ?? []) console.log(`${name.padEnd(6)} = ${JSON.stringify(result)}`)
await punctual.close()

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** A function that resolves once `count` callers have come: it would wait forever if the tasks did not run at the same time. */
function meetingOf(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let missing = count
  return () => {
    missing -= 1
    if (missing === 0) resolve()
    return promise
  }
}
