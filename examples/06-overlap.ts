// Instants that come due while the run before goes on, and limits across jobs. Run it with: node examples/06-overlap.ts
import { createPunctual, cron, defineJob } from 'punctual'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'

const clock = manualClock('2026-03-01T00:00:00Z')

// Every ten minutes, and each run takes 25. The policy says what the instants in between come to.
const policies = ['skip', 'allow', 'queue', 'queue-one', 'cancel-previous'] as const
const jobs = policies.map((overlap) =>
  defineJob(overlap, { schedule: cron('*/10 * * * *', { end: '2026-03-01T00:45:00Z' }), overlap }).task('work', ({ signal }) =>
    minutes(25, signal),
  ),
)

// At most two calls of this service at once, whatever jobs they come from, on all nodes together.
const call = defineJob<{ n: number }>('call', { concurrency: { key: 'service', limit: 2 } }).task('work', ({ signal }) =>
  minutes(10, signal),
)
// At most three mails start in an hour.
const mail = defineJob<{ n: number }>('mail', { rate: { key: 'mail', limit: 3, per: '1h' } }).task('send', () => {})

const punctual = createPunctual({ store: memory(), jobs: [...jobs, call, mail], clock, concurrency: 50, timeout: '1h' })
await punctual.start()
await clock.advance('3h')

console.log('Instants at 00:10, 00:20, 00:30 and 00:40:')
for (const overlap of policies) {
  const { items } = await punctual.list({ job: overlap })
  console.log(`  ${overlap}`)
  for (const { id, scheduledAt, state, startedAt, endedAt } of items.toReversed()) {
    const { reason } = (await punctual.get(id)) ?? {}
    const ran = startedAt ? ` ${time(startedAt)} to ${time(endedAt)}` : ''
    // A reason that names another occurrence ends with its id.
    console.log(`    ${time(scheduledAt)} ${state}${ran}${reason ? ` (${reason.replace(/ \S+-\S+$/, ' another')})` : ''}`)
  }
}

// Work over a limit waits, takes no slot, and shows its reason.
for (const n of [1, 2, 3, 4]) {
  await punctual.enqueue(call, { n }, { key: `call-${n}` })
  await punctual.enqueue(mail, { n }, { key: `mail-${n}` })
}
await clock.advance('1m')
console.log('Four calls and four mails, a minute later:')
for (const job of ['call', 'mail']) {
  for (const n of [1, 2, 3, 4]) {
    const occurrence = await punctual.get({ job, key: `${job}-${n}` })
    const wait = occurrence?.wait
    const until = wait?.until ? ` until ${time(wait.until)}` : ''
    console.log(`  ${job} ${n}: ${occurrence?.state}${wait ? ` for ${wait.reason}${until}` : ''}`)
  }
}
await clock.advance('1h')
const { completed } = await punctual.counts({ job: 'call' })
console.log(`An hour later: ${completed} calls and ${(await punctual.counts({ job: 'mail' })).completed} mails are done.`)
await punctual.close()

/** Waits on the clock, or ends with the signal. */
function minutes(count: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    clock.timer(count * 60_000, resolve)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

function time(at: Date | null): string {
  return at?.toISOString().slice(11, 16) ?? ''
}
