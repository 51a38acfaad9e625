import { parseArgs } from 'node:util'
import { Page } from '../harness/page.ts'
import { contestants } from './contestants.ts'
import { drainTable, enqueueTable, idleTable, keysTable, latenessTable, pickupTable } from './tables.ts'

/** Measures Punctual beside plainjob, in one run: ratios count, not absolute figures. */

const tables = {
  drain: drainTable,
  keys: keysTable,
  pickup: pickupTable,
  lateness: latenessTable,
  enqueue: enqueueTable,
  idle: idleTable,
}
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '3' }, jobs: { type: 'string', default: '100000' } },
})
const chosen = positionals.length === 0 ? Object.keys(tables) : positionals
const page = new Page('Queues on one machine: memory and SQLite')

for (const name of chosen) {
  const table = tables[name as keyof typeof tables]
  if (!table) throw new Error(`There is no table ${name}; there are ${Object.keys(tables).join(', ')}`)
  await table(page, { rounds: Number(values.rounds), jobs: Number(values.jobs) })
}

// A part of the page, or one of fewer jobs, is for looking at: only the whole is kept.
if (chosen.length === Object.keys(tables).length && values.jobs === '100000') {
  page.write('queue', {
    packages: [...new Set(contestants.flatMap((contestant) => contestant.packages))],
    notes: [
      `Made by \`npm run queue\` in \`bench/\`: ${values.rounds} interleaved rounds, each contestant in a process of its own; median (lowest–highest). No-op handlers, 100 bytes of JSON, all history kept, default options. Every job of every run was checked to have run exactly once.`,
      'CPU is user and system time of all worker processes. The machine has other work to do, so that ratios within the run and CPU per job tell more than rates.',
      'plainjob runs on better-sqlite3 as its manual says, with the poll set from 1 s to 5 ms; it works one job at a time.',
    ],
  })
}
