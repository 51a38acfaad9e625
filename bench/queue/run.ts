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
const isPart = chosen.length < Object.keys(tables).length
const page = new Page('Queues on one machine: memory and SQLite', {
  rounds: Number(values.rounds),
  ...(isPart && { continues: 'queue' }),
})

for (const name of chosen) {
  const table = tables[name as keyof typeof tables]
  if (!table) throw new Error(`There is no table ${name}; there are ${Object.keys(tables).join(', ')}`)
  await table(page, { rounds: Number(values.rounds), jobs: Number(values.jobs) })
}

// One of fewer jobs is for looking at. A part of the page replaces its own tables.
if (values.jobs === '100000') {
  const colophon = {
    packages: [...new Set(contestants.flatMap((contestant) => contestant.packages))],
    notes: [
      'Made by `npm run queue` in `bench/`, in interleaved rounds, each contestant in a separate process; median (lowest–highest). No-op handlers, 100 bytes of JSON, all history kept, default options. Every job of every run was checked to have run exactly once.',
      'Each table is of one run. CPU is user and system time of all worker processes. Ratios within a run and CPU per job tell more than rates.',
      'plainjob runs on better-sqlite3 as its manual says, with the poll set from 1 s to 5 ms; it works one job at a time.',
    ],
  }
  page.write('queue', colophon)
}
