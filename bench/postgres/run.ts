import { barChart } from '../harness/bar-chart.ts'
import type { Bar } from '../harness/comparison.ts'
import { Page } from '../harness/page.ts'
import { contestants } from './contestants.ts'
import { loadedTables } from './loaded-table.ts'
import { parseOptions } from './scale.ts'
import { describeServer, startServer } from './server.ts'
import { drainTable, enqueueTable, idleTable, keysTable, latenessTable, pickupTable } from './tables.ts'

/**
 * Measures Punctual on PostgreSQL beside graphile-worker and pg-boss, in one run: ratios count, not absolute figures.
 * A part of it: `npm run postgres -- --measure drain,pickup --rounds 1 --jobs 20000 --only punctual,graphile`.
 */

const tables = {
  drain: drainTable,
  keys: keysTable,
  pickup: pickupTable,
  lateness: latenessTable,
  enqueue: enqueueTable,
  idle: idleTable,
  loaded: loadedTables,
}
const { measures, scale, isWhole } = parseOptions(process.argv.slice(2), Object.keys(tables))
const page = new Page('Queues on PostgreSQL')
const bars: Bar[] = []

await using server = await startServer()
for (const name of measures) bars.push(...(await tables[name as keyof typeof tables](page, scale)))

// A part of the page, or one of fewer jobs, is for looking at: only the whole is kept.
if (isWhole) {
  page.chart('postgres', barChart('Punctual to the best peer, to the right where Punctual is better', bars))
  page.write('postgres', {
    engine: describeServer(server),
    packages: [...new Set(contestants.flatMap((contestant) => contestant.packages))],
    notes: [
      `Made by \`npm run postgres\` in \`bench/\`: ${scale.rounds} interleaved rounds, each contestant in processes and in a database of its own; median (lowest–highest). No-op handlers, 100 bytes of JSON. Every job of every run was checked to have run exactly once.`,
      'A ratio is that of the medians to the best peer in that figure, with the lowest and highest of single rounds; more than 1× is better, for times and CPU too.',
      'CPU is user and system time of the workers and of all processes of the server. Clients, workers and server share the machine, so that ratios within the run and CPU per job tell more than rates.',
      'Keys: `concurrency: { key, limit: 1 }` of Punctual, named queues of graphile-worker; both run the jobs of a key one at a time.',
      'Punctual runs with its default options and keeps all history. pg-boss keeps the rows of done jobs; graphile-worker deletes them.',
      'graphile-worker: local queue of 5,000, 100 jobs at once, completions gathered for 5 ms, poll 2 s (its default) unless another is named. pg-boss: 4 workers with batches of 500, burstWhenBatchFull, notify unless said otherwise, poll 0.5 s (its shortest). These were found by trying and are faster here than what their manuals suggest.',
    ],
  })
}
