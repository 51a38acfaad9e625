import { createPunctual, cron, defineJob } from '../../src/index.ts'
import type { FigureRow, Store } from '../../src/store/store.ts'
import { type Amount, days, definition, jobName, tenantOf } from './past.ts'

const minuteMs = 60_000
const quarterMs = 15 * minuteMs
const hourMs = 60 * minuteMs

export const report = defineJob(definition, { schedule: cron('0 3 * * *') }).task('run', () => {})

/** Makes the tables, a job and one run of it: the first of everything, which copies are made of. */
export async function addModel(store: Store): Promise<void> {
  const punctual = createPunctual({ store, jobs: [report] })
  await punctual.enqueue(report, undefined, { key: 'model', entity: 'model' })
  await punctual.runDue()
  await punctual.close()
}

/** Adds the figures that nodes would have added with these runs: by the minute for the last six hours, before that by quarter of an hour. */
export async function addFigures(store: Store, amount: Amount): Promise<void> {
  const now = Math.floor(Date.now() / quarterMs) * quarterMs
  const clock = { wall: Date.now, mono: () => performance.now(), timer: () => () => {}, poll: () => () => {}, soon: () => {} }
  await store.open({ clock, random: Math.random })
  const minutesFrom = now - 6 * hourMs
  const rows: FigureRow[] = []
  const add = async (most: number) => {
    if (rows.length > most) await store.figures({ id: `fill ${rows[0]?.at}`, rows: rows.splice(0) })
  }
  for (let at = now - days * 24 * hourMs; at < Date.now(); at += at < minutesFrom ? quarterMs : minuteMs) {
    rows.push(...figuresOf(amount, at, at < minutesFrom ? quarterMs : minuteMs))
    await add(5000)
  }
  await add(0)
  await store.close()
}

function figuresOf({ jobs, occurrences }: Amount, at: number, widthMs: number): readonly FigureRow[] {
  const runs = Math.round((occurrences * widthMs) / (days * 24 * hourMs))
  const rowOf = (tenant: string, job: string, count: number) => ({
    ...{ tenant, job, at, widthMs, figure: { completed: count, failed: Math.round(count / 50) } },
  })
  // Of the older quarters the sums alone: reads of single jobs do not reach back that far.
  const isRecent = Date.now() - at < 2 * 24 * hourMs
  const first = Math.floor(at / minuteMs)
  const ofJobs = new Set(Array.from({ length: isRecent ? runs : 0 }, (_, n) => (first + n * 7919) % jobs))
  return [rowOf('', '', runs), ...[...ofJobs].map((n) => rowOf(tenantOf(n), jobName(n), 1))]
}
