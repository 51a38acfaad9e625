import type { Contestant } from '../harness/contestant.ts'
import { checkExactlyOnce } from '../harness/exactly-once.ts'
import { act, inPlace } from '../harness/in-place.ts'
import type { PickedUp } from '../harness/measures.ts'
import { cell, figure, type Page } from '../harness/page.ts'
import { inRounds } from '../harness/rounds.ts'
import { median, percentile, spread } from '../harness/statistics.ts'
import { together } from '../harness/usage.ts'
import { contestants } from './contestants.ts'

export interface Scale {
  readonly rounds: number
  /** Jobs of one drain. */
  readonly jobs: number
}

const shared = contestants.filter((contestant) => contestant.isShared)
const peer = contestants.at(-1) as Contestant
/** The goals are for SQLite with its default durability. */
const judged = 'Punctual, sqlite normal'

export async function drainTable(page: Page, { rounds, jobs: count }: Scale): Promise<void> {
  for (const processes of [1, 2]) {
    const results = await inRounds(processes === 1 ? contestants : shared, rounds, async (contestant) => {
      const filling = { count }
      const workers = await inPlace(contestant, filling, ...Array.from({ length: processes }, () => act('drain', filling)))
      checkExactlyOnce(
        count,
        workers.map(({ ran }) => ran),
      )
      const millis = Math.max(...workers.map(({ endedAt }) => endedAt)) - Math.min(...workers.map(({ startedAt }) => startedAt))
      const cpuMicros = together(workers.map(({ cpu }) => cpu)).own
      return { perSecond: (count * 1000) / millis, cpuMicrosPerJob: cpuMicros / count }
    })
    const peerRate = median((results.get(peer) ?? []).map(({ perSecond }) => perSecond))
    const rows = [...results].map(([{ name }, runs]) => {
      const rate = spread(runs.map(({ perSecond }) => perSecond))
      const ratio = rate.median / peerRate
      const goal = name === judged ? page.goal('≥ 5×', ratio >= 5) : ''
      return [name, cell(rate), cell(spread(runs.map((run) => run.cpuMicrosPerJob))), `${figure(ratio, 1)}×`, goal]
    })
    page.table(
      `Drain: ${figure(count)} jobs, ${processes === 1 ? 'one worker process' : `${processes} worker processes`}`,
      ['', 'jobs/s', 'CPU µs/job', 'to plainjob', 'goal'],
      rows,
      'All jobs are there, enqueued by another process (memory: the same), when the workers start; the time ends when the store holds none that waits or runs.',
    )
  }
}

/** Jobs that run one at a time within their key: plainjob has no such limit. */
export async function keysTable(page: Page, { rounds }: Scale): Promise<void> {
  const ways = [
    { keys: 500, count: 10_000, least: { [judged]: 20_000, 'Punctual, memory': 50_000 } },
    { keys: 1, count: 3000, least: { [judged]: 3000 } },
  ]
  for (const { keys, count, least } of ways) {
    const results = await inRounds(
      contestants.filter((contestant) => contestant !== peer),
      rounds,
      async (contestant) => {
        const filling = { count, keys }
        const [worker] = await inPlace(contestant, filling, act('drain', filling))
        checkExactlyOnce(count, [worker.ran])
        return (count * 1000) / (worker.endedAt - worker.startedAt)
      },
    )
    const rows = [...results].map(([{ name }, rates]) => {
      const goal = (least as Record<string, number>)[name]
      const isMet = goal !== undefined && median(rates) >= goal
      return [name, cell(spread(rates)), goal === undefined ? '' : page.goal(`≥ ${figure(goal)}/s`, isMet)]
    })
    page.table(
      `Keys: ${figure(count)} jobs over ${keys === 1 ? 'one key' : `${keys} keys`}, one worker process`,
      ['', 'jobs/s', 'goal'],
      rows,
    )
  }
}

export async function pickupTable(page: Page, { rounds }: Scale): Promise<void> {
  const [count, everyMs] = [200, 20]
  const own = await inRounds(contestants, rounds, async (contestant) => {
    const [picked] = await inPlace(contestant, null, act('pickup', count, everyMs))
    return checked(picked, count)
  })
  const other = await inRounds(shared, rounds, async (contestant) => {
    const [picked] = await inPlace(contestant, null, act('pickUp', count), act('produce', count, everyMs))
    return checked(picked, count)
  })
  const columns = ['', 'p50 ms', 'p99 ms', 'p50 to plainjob', 'goal']
  page.table(
    `Pickup in one process: a job every ${everyMs} ms`,
    columns,
    pickupRows(page, own, 0.6),
    'From the call of enqueue to the start of the handler, on a worker that has nothing else to do.',
  )
  page.table('Pickup from another process', columns, pickupRows(page, other))
}

function pickupRows(page: Page, results: Map<Contestant, PickedUp[]>, mostMs?: number): string[][] {
  const peerMs = spreadOf(results.get(peer) ?? [], 50).median
  return [...results].map(([{ name }, runs]) => {
    const p50 = spreadOf(runs, 50)
    const goal = name === judged && mostMs !== undefined ? page.goal(`p50 ≤ ${mostMs} ms`, p50.median <= mostMs) : ''
    return [name, cell(p50), cell(spreadOf(runs, 99)), `${figure(peerMs / p50.median, 1)}×`, goal]
  })
}

export async function latenessTable(page: Page, { rounds }: Scale): Promise<void> {
  const [count, spreadMs] = [10_000, 20_000]
  const results = await inRounds(contestants, rounds, async (contestant) => {
    const filling = { count, spreadMs, dueFrom: Date.now() + 3000 }
    const [late] = await inPlace(contestant, filling, act('lateness', filling))
    if (late.early > 0) throw new Error(`${contestant.name} started ${late.early} jobs before they were due`)
    return checked(late, count)
  })
  const peerRuns = results.get(peer) ?? []
  const rows = [...results].map(([{ name }, runs]) => {
    const [p50, p99] = [spreadOf(runs, 50), spreadOf(runs, 99)]
    const ratios = `${figure(spreadOf(peerRuns, 50).median / p50.median, 1)}× / ${figure(spreadOf(peerRuns, 99).median / p99.median, 1)}×`
    const cpu = spread(runs.map(({ cpu }) => cpu.own / count))
    const goal = name === judged ? page.goal('p99 ≤ 5 ms', p99.median <= 5) : ''
    return [name, cell(p50), cell(p99), cell(spreadOf(runs, 100)), cell(cpu), ratios, goal]
  })
  page.table(
    `Lateness: ${figure(count)} jobs due at random within ${spreadMs / 1000} s`,
    ['', 'p50 ms', 'p99 ms', 'max ms', 'CPU µs/job', 'p50 / p99 to plainjob', 'goal'],
    rows,
    'Start less due. None started early.',
  )
}

export async function enqueueTable(page: Page, { rounds }: Scale): Promise<void> {
  const ways = [
    { title: 'one caller, the first 20,000', count: 20_000, how: {} },
    { title: 'one caller, the next 20,000', count: 20_000, how: { warmUp: 20_000 }, least: 0.75 },
    { title: '50 callers', count: 20_000, how: { callers: 50, warmUp: 20_000 } },
    { title: '1,000 in a call', count: 50_000, how: { bulk: 1000, warmUp: 50_000 } },
  ]
  const rows = new Map(contestants.map((contestant) => [contestant, [contestant.name]]))
  for (const { count, how, least } of ways) {
    const results = await inRounds(
      contestants,
      rounds,
      async (contestant) => (await inPlace(contestant, null, act('enqueue', count, how)))[0],
    )
    const peerRate = median((results.get(peer) ?? []).map(({ perSecond }) => perSecond))
    for (const [contestant, runs] of results) {
      const rate = spread(runs.map(({ perSecond }) => perSecond))
      const cpu = median(runs.map(({ cpu }) => cpu.own / count))
      const ratio = rate.median / peerRate
      const goal = least !== undefined && contestant.name === judged ? `, ${page.goal(`≥ ${least}×`, ratio >= least)}` : ''
      rows.get(contestant)?.push(`${cell(rate)}, CPU ${figure(cpu, 1)} µs, ${figure(ratio, 2)}×${goal}`)
    }
  }
  page.table(
    'Enqueue: jobs/s, CPU per job, and the ratio to plainjob',
    ['', ...ways.map(({ title }) => title)],
    [...rows.values()],
    'Each call is awaited and resolves when its jobs are committed. The files are open and have their tables before the time begins. But for the first column, each process has enqueued as many jobs before, in the same way.',
  )
}

export async function idleTable(page: Page, { rounds }: Scale): Promise<void> {
  const [count, overMs] = [100_000, 10_000]
  const results = await inRounds(contestants, rounds, async (contestant) => {
    const filling = { count, spreadMs: 86_400_000, dueFrom: Date.now() + 30 * 86_400_000 }
    return (await inPlace(contestant, filling, act('idle', filling, overMs)))[0]
  })
  const rows = [...results].map(([{ name }, runs]) => {
    const percent = spread(runs.map(({ own }) => own))
    return [name, cell(percent), name === judged ? page.goal('< 0.5 %', percent.median < 0.5) : '']
  })
  page.table(
    `Idle: ${figure(count)} jobs due in a month`,
    ['', '% of a core', 'goal'],
    rows,
    `CPU of the worker process over ${overMs / 1000} s.`,
  )
}

function checked<Run extends PickedUp>(run: Run, count: number): Run {
  checkExactlyOnce(count, [run.ran])
  return run
}

/** The given percentile of each run, and how it varies between them. */
function spreadOf(runs: readonly PickedUp[], p: number): ReturnType<typeof spread> {
  return spread(runs.map(({ millis }) => percentile(millis, p)))
}
