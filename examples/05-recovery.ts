// Strategies for instants that came due while nothing ran. Run it with: node examples/05-recovery.ts
import { createPunctual, cron, defineJob } from 'punctual'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'

// A manual clock, so a night takes no time. Your own program leaves it out.
const clock = manualClock('2026-03-01T00:30:00Z')
const hourly = cron('0 * * * *')

// One job for each strategy; all run once an hour.
const jobs = [
  // Every instant is made up for, the oldest first, one after another. The default: work that must not be left out.
  defineJob('all', { schedule: hourly, recovery: 'all' }),
  // Only the newest: a report of how things stand now.
  defineJob('last', { schedule: hourly, recovery: 'last' }),
  // None: work that makes sense only at its time. Missed instants are recorded.
  defineJob('mark-missed', { schedule: hourly, recovery: 'mark-missed' }),
  // The newest three, and none that is 5 h old or older.
  defineJob('bounded', { schedule: hourly, recovery: { strategy: 'bounded', maxOccurrences: 3, maxAge: '5h' } }),
  // One run, which gets the span of the instants it covers: a sync that can take a whole span at once.
  defineJob('compressed', { schedule: hourly, recovery: 'compressed' }),
].map((job) =>
  job.task('run', ({ scheduledAt, isRecovery, lateness, span }) => {
    const stands = span ? ` for ${span.count} instants from ${time(span.from)} to ${time(span.to)}` : ''
    if (isRecovery) console.log(`  ${job.name} runs ${time(scheduledAt)}, ${lateness / 3_600_000} h late${stands}`)
  }),
)

const punctual = createPunctual({ store: memory(), jobs, clock })
await punctual.start()
await clock.advance('1h')

// The process ends at 01:30 and comes back at 08:00. From 02:00 to 08:00 seven instants came due.
await punctual.stop()
await clock.advanceTo('2026-03-01T08:00:00Z')
console.log('Back at 08:00:')
await punctual.start()
await clock.advance('1m')

// Each instant is accounted for, whatever the strategy.
console.log('What is recorded since 02:00:')
for (const { name } of jobs) {
  const { items } = await punctual.list({ job: name, from: '2026-03-01T02:00:00Z', to: '2026-03-01T08:01:00Z' })
  const states = Object.entries(Object.groupBy(items, ({ state }) => state)).map(([state, lines]) => `${lines.length} ${state}`)
  console.log(`  ${name.padEnd(11)} ${states.sort().join(', ')}`)
}
await punctual.close()

function time(at: Date): string {
  return at.toISOString().slice(11, 16)
}
