// Running again what was run before, filling in what was not, and asking why. Run it with: node examples/08-replay.ts
import { createPunctual, cron, defineJob } from 'punctual'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'

// A manual clock, and a node with rare heartbeats, so days take no time.
const clock = manualClock('2026-03-10T00:00:00Z')
let rate = 0

const rates = defineJob('rates', { schedule: cron('0 6 * * *'), retry: { max: 0 } })
  .task('fetch', () => rate)
  .task('publish', ({ results, source }) => {
    if (results.fetch === 0) throw new Error('a rate of 0 is not published')
    return `${source}: ${results.fetch}`
  })

const punctual = createPunctual({ store: memory(), jobs: [rates], clock, node: { heartbeat: '10m', timeout: '30m' } })
// Failures are expected here. With a listener they are not logged.
punctual.on('occurrence.failed', () => {})
await punctual.start()

// Two days fail, since the source answers 0.
await clock.advance('2d')
const { items: failed } = await punctual.list({ job: 'rates', state: 'failed' })
console.log(`${failed.length} failed: ${failed[0]?.error?.message}`)

// One is run again, whole. The reason is kept, and the new occurrence is linked to the old one, which stays as it was.
rate = 4.25
const [first] = failed
const { id } = await punctual.replay(first?.id as string, { reason: 'the source was mended' })
await clock.advance('1m')
const replayed = await punctual.get(id)
console.log(`replayed: ${replayed?.state}, ${replayed?.result} (${replayed?.replay?.reason})`)

// Only one task of it: what the other came to stands.
const part = await punctual.replay(id, { tasks: ['publish'], reason: 'readers did not see it' })
await clock.advance('1m')
const tasks = (await punctual.get(part.id))?.tasks ?? []
console.log(
  tasks.map(({ name, state, attempts }) => `${name} ${state}, ${attempts.length === 0 ? 'taken over' : 'run again'}`).join('; '),
)

// A backfill: the instants of a range. First a look, which writes nothing.
const range = { from: '2026-03-07T00:00:00Z', to: '2026-03-12T00:00:00Z' }
for (const mode of ['missing', 'failed', 'all'] as const) {
  const { instants, count, existing } = await punctual.previewBackfill('rates', { ...range, mode })
  console.log(`${mode}: ${count} of ${instants} instants would be run; there are ${JSON.stringify(existing)}`)
}

// It is work like any other: a node does it, it shows how far it is, and it can be canceled.
const operation = await punctual.backfill('rates', { ...range, mode: 'missing' })
await clock.advance('1m')
const done = await punctual.get(operation.id)
console.log(`backfill: ${done?.state}, ${JSON.stringify(done?.result)}, ${done?.progress?.message}`)
const { items: runs } = await punctual.list({ job: 'rates', ...range })
for (const { scheduledAt, source, state } of runs.toSorted((a, b) => a.scheduledAt.getTime() - b.scheduledAt.getTime()))
  console.log(`  ${scheduledAt.toISOString().slice(0, 10)} ${source.padEnd(8)} ${state}`)

// Why does it not run? The most telling reason comes first.
await punctual.pause('rates', { reason: 'the source changes', by: 'ada' })
const { reasons } = await punctual.explain('rates')
for (const { code, message } of reasons) console.log(`${code}: ${message}`)
await punctual.close()
