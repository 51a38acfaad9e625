// A first job: declared, started, given work, and read back. Run it with: node examples/01-first-job.ts
import { createPunctual, defineJob } from 'punctual'
import { memory } from 'punctual/memory'

// A job is a name and its tasks. The return value of a handler is kept as the result; a throw would be a failure.
const greet = defineJob<{ name: string }>('greet').task('say', ({ payload }) => `Hello, ${payload.name}!`)

const punctual = createPunctual({ store: memory(), jobs: [greet] })
await punctual.start()

// From now on this process looks for work. enqueue creates an occurrence: one intended run of the job.
const handle = await punctual.enqueue(greet, { name: 'Ada' }, { idempotencyKey: 'ada' })
console.log(`enqueue: ${handle.outcome}`)
console.log(`result:  ${await handle.result()}`)

// You can read its state and result here, or from any other process on the same store.
const occurrence = await punctual.get(handle.id)
console.log(`state:   ${occurrence?.state}`)

// The same idempotency key means the same occurrence, also after its end: nothing is created, nothing runs again.
const again = await punctual.enqueue(greet, { name: 'Ada' }, { idempotencyKey: 'ada' })
console.log(`enqueue: ${again.outcome}, the same one: ${again.id === handle.id}`)

await punctual.close()
