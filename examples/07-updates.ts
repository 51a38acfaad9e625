// How a job changes while it is at work: by code, by a person, and back. Run it with: node examples/07-updates.ts
import { createPunctual, cron, defineJob } from 'punctual'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'

// A manual clock, and nodes with rare heartbeats, so days take no time.
const clock = manualClock('2026-03-01T12:00:00Z')
const slow = { clock, node: { heartbeat: '10m', timeout: '30m' } }
const store = memory()

// Code declares: every day at 06:00.
const report = defineJob('report', { schedule: cron('0 6 * * *') }).task('build', () => 'built')
const punctual = createPunctual({ store, jobs: [report], ...slow })
await punctual.start()
await clock.advance('1s')
await show('declared')

// A person changes the schedule. immediate: it holds from now on. Planned runs that have not begun are taken back.
await punctual.update('report', { schedule: cron('0 8 * * *') }, { by: 'ada' })
await show('immediate')

// graceful: the old schedule brings its next run, then the new one holds.
await punctual.update('report', { schedule: cron('0 20 * * *') }, { by: 'ada', update: 'graceful' })
await show('graceful')

// Two people change what they have both read as version 3: the second gets an error, and nothing is lost.
await punctual.update('report', { retry: { max: 5 } }, { by: 'ada', expectedVersion: 3, update: 'graceful' })
await punctual
  .update('report', { retry: { max: 9 } }, { by: 'bob', expectedVersion: 3 })
  .catch(({ code, details }) => console.log(`bob: ${code}, expected ${details.expectedVersion}, it is ${details.version}`))

// The history: which version held when, by whom, and what it changed.
for (const { version, effectiveAt, by, scheduleText } of await punctual.versions('report'))
  console.log(`  v${version} from ${time(effectiveAt)} by ${by ?? 'code'}: ${scheduleText}`)
for (const { field, from, to } of await punctual.diff('report', 1, 4))
  console.log(`  ${field}: ${JSON.stringify(from)} became ${JSON.stringify(to)}`)

// A new release declares 07:00. The person's change stands until it is reset; what is not changed by hand follows the code.
await punctual.close()
const next = defineJob('report', { schedule: cron('0 7 * * *'), priority: 3 }).task('build', () => 'built')
const second = createPunctual({ store, jobs: [next], ...slow })
await second.start()
await clock.advance('1s')
const {
  items: [redeployed],
} = await second.jobs({ name: 'report' })
console.log(
  `redeployed: ${redeployed?.scheduleText}, priority ${redeployed?.settings.priority}, by hand: ${redeployed?.overridden}`,
)
await second.reset('report', { by: 'ada' })
const {
  items: [reset],
} = await second.jobs({ name: 'report' })
console.log(`reset:      ${reset?.scheduleText}, by hand: ${reset?.overridden.length === 0 ? 'nothing' : reset?.overridden}`)

// Paused is not disabled: instants in a pause are recorded as skipped, a disabled job has none.
await second.pause('report', { until: '2026-03-02T12:00:00Z', reason: 'the figures are being mended', by: 'ada' })
await clock.advanceTo('2026-03-02T12:00:00Z')
await second.update('report', { enabled: false }, { by: 'ada' })
await clock.advanceTo('2026-03-03T12:00:00Z')
await second.update('report', { enabled: true }, { by: 'ada' })
await clock.advanceTo('2026-03-04T12:00:00Z')
for (const { scheduledAt, state } of (await second.list({ job: 'report' })).items.toReversed())
  console.log(`  ${time(scheduledAt)} ${state}`)
await second.close()

async function show(what: string): Promise<void> {
  const {
    items: [job],
  } = await punctual.jobs({ name: 'report' })
  console.log(`${what.padEnd(10)} v${job?.version}: ${job?.scheduleText}, next run ${time(job?.nextRun ?? null)}`)
}

function time(at: Date | null): string {
  return at?.toISOString().slice(5, 16).replace('T', ' ') ?? 'none'
}
