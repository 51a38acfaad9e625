import { type Aspect, type Bar, compare } from '../harness/comparison.ts'
import type { Contestant } from '../harness/contestant.ts'
import { act, atPlace, inPlace } from '../harness/in-place.ts'
import type { Pace } from '../harness/measures.ts'
import { figure, type Page } from '../harness/page.ts'
import { inRounds } from '../harness/rounds.ts'
import type { Usage } from '../harness/usage.ts'
import { entries, isPeer } from './contestants.ts'
import { type Delays, type Drained, drainOnce, type Lateness, latenessOnce, perJob, pickupOnce } from './runs.ts'
import type { Scale } from './scale.ts'

export async function drainTable(page: Page, scale: Scale): Promise<Bar[]> {
  const bars: Bar[] = []
  for (const processes of [1, 2]) {
    const results = await measured('drain', scale, (contestant) => drainOnce(contestant, { count: scale.jobs, processes }))
    const title = processes === 1 ? 'one worker process' : `${processes} worker processes`
    const comparison = {
      heading: `Drain: ${figure(scale.jobs, 0)} jobs, ${title}`,
      note: 'All jobs are there, enqueued by another process, when the workers start; the time ends when none waits or runs any more.',
      aspects: drainAspects(title),
    }
    bars.push(...compare(page, { ...comparison, results, isPeer }))
  }
  return bars
}

export function drainAspects(title: string): Aspect<Drained>[] {
  return [
    {
      title: 'jobs/s',
      of: ({ perSecond }) => perSecond,
      better: 'higher',
      bar: `drain, ${title}: jobs/s`,
      goal: title.startsWith('one') ? 2 : 1.6,
    },
    { title: 'CPU µs/job', of: ({ cpu }) => cpu.own + cpu.server, better: 'lower', bar: `drain, ${title}: CPU per job` },
    { title: 'of it worker', of: ({ cpu }) => cpu.own },
    { title: 'of it database', of: ({ cpu }) => cpu.server },
  ]
}

/** Jobs that run one at a time within their key. */
export async function keysTable(page: Page, scale: Scale): Promise<Bar[]> {
  const bars: Bar[] = []
  for (const { keys, count, processes } of [
    { keys: 500, count: 10_000, processes: 1 },
    { keys: 500, count: 10_000, processes: 4 },
    { keys: 1, count: 1000, processes: 1 },
    { keys: 1, count: 1000, processes: 4 },
  ]) {
    const title = `${keys === 1 ? 'one key' : `${keys} keys`}, ${processes === 1 ? 'one worker process' : `${processes} worker processes`}`
    const results = await measured('keys', scale, (contestant) => drainOnce(contestant, { count, processes, keys }))
    const aspects: Aspect<Drained>[] = [
      {
        title: 'jobs/s',
        of: ({ perSecond }) => perSecond,
        better: 'higher',
        bar: `keys, ${title}: jobs/s`,
        ...(keys > 1 && { goal: 20 }),
      },
      { title: 'CPU µs/job', of: ({ cpu }) => cpu.own + cpu.server, better: 'lower' },
    ]
    bars.push(...compare(page, { heading: `Keys: ${figure(count, 0)} jobs over ${title}`, aspects, results, isPeer }))
  }
  return bars
}

export async function pickupTable(page: Page, scale: Scale): Promise<Bar[]> {
  const everyMs = 20
  const bars: Bar[] = []
  for (const from of ['other', 'own'] as const) {
    const title = from === 'other' ? 'from another process' : 'in one process'
    const results = await measured('pickup', scale, (contestant) => pickupOnce(contestant, scale.pickups, everyMs, from))
    const comparison = {
      heading: `Pickup ${title}: a job every ${everyMs} ms, ${figure(scale.pickups, 0)} jobs`,
      note: 'From the call of enqueue to the start of the handler, on a worker that has nothing else to do.',
      aspects: delayAspects(`pickup ${title}`, { p50: from === 'own' ? 2 : 1, p99: 1 }),
    }
    bars.push(...compare(page, { ...comparison, results, isPeer }))
  }
  return bars
}

function delayAspects(title: string, goals: { readonly p50?: number; readonly p99: number }): Aspect<Delays>[] {
  const goalOf = (goal: number | undefined) => (goal === undefined ? {} : { goal })
  return [
    { title: 'p50 ms', of: ({ p50 }) => p50, better: 'lower', bar: `${title}: p50`, ...goalOf(goals.p50) },
    { title: 'p99 ms', of: ({ p99 }) => p99, better: 'lower', bar: `${title}: p99`, ...goalOf(goals.p99) },
    { title: 'max ms', of: ({ max }) => max },
  ]
}

export async function latenessTable(page: Page, scale: Scale): Promise<Bar[]> {
  const { jobs: count, seconds } = scale.late
  const results = await measured('lateness', scale, (contestant) => latenessOnce(contestant, { count, spreadMs: seconds * 1000 }))
  return compare(page, {
    heading: `Lateness: ${figure(count, 0)} jobs due at random within ${seconds} s`,
    note: 'Start less due. None started early.',
    aspects: latenessAspects('lateness'),
    results,
    isPeer,
  })
}

export function latenessAspects(title: string): Aspect<Lateness>[] {
  return [
    ...delayAspects(title, { p99: 3 }),
    { title: 'worker CPU µs/job', of: ({ cpu }) => cpu.own },
    { title: 'database CPU µs/job', of: ({ cpu }) => cpu.server },
  ]
}

export async function enqueueTable(page: Page, scale: Scale): Promise<Bar[]> {
  const ways = [
    { title: 'one caller', unit: 'calls/s', share: 1 / 50, how: {}, wanted: {} },
    { title: '50 callers at once', unit: 'calls/s', share: 1 / 20, how: { callers: 50 }, wanted: { goal: 5 } },
    { title: '5,000 jobs in a call', unit: 'jobs/s', share: 1 / 2, how: { bulk: 5000 }, wanted: { goal: 1.5 } },
  ]
  const bars: Bar[] = []
  for (const { title, unit, share, how, wanted } of ways) {
    const count = Math.ceil(scale.jobs * share)
    const results = await measured('enqueue', scale, async (contestant) => {
      const [enqueued] = await inPlace(contestant, null, act('enqueue', count, how))
      return { ...enqueued, cpu: perJob(enqueued.cpu, count) }
    })
    const aspects: Aspect<Pace>[] = [
      { title: unit, of: ({ perSecond }) => perSecond, better: 'higher', bar: `enqueue, ${title}: ${unit}`, ...wanted },
      { title: 'caller CPU µs/job', of: ({ cpu }) => cpu.own },
      { title: 'database CPU µs/job', of: ({ cpu }) => cpu.server },
    ]
    const comparison = {
      heading: `Enqueue: ${title}, ${figure(count, 0)} jobs`,
      note: 'Each call is awaited and resolves when its jobs are committed.',
      aspects,
    }
    bars.push(...compare(page, { ...comparison, results, isPeer }))
  }
  return bars
}

export async function idleTable(page: Page, scale: Scale): Promise<Bar[]> {
  const { jobs: count, seconds } = scale.idle
  const results = await measured('idle', scale, async (contestant) => {
    const filling = { count, spreadMs: 86_400_000, dueFrom: Date.now() + 30 * 86_400_000 }
    const place = await contestant.makePlace()
    try {
      await atPlace(contestant, place, filling)
      await contestant.restPlace?.(place)
      return (await atPlace(contestant, place, null, act('idle', filling, seconds * 1000)))[0]
    } finally {
      await contestant.removePlace(place)
    }
  })
  const aspects: Aspect<Usage>[] = [
    { title: 'worker, % of a core', of: ({ own }) => own },
    { title: 'database, % of a core', of: ({ server }) => server },
    { title: 'together', of: ({ own, server }) => own + server, better: 'lower', bar: 'idle: CPU', under: 0.5 },
  ]
  return compare(page, {
    heading: `Idle: ${figure(count, 0)} jobs due in a month`,
    note: `CPU over ${seconds} s, that of the server itself included.`,
    aspects,
    results,
    isPeer,
  })
}

/** Runs the chosen contestants in interleaved rounds, and writes its progress to stderr. */
export function measured<Run>(
  measure: keyof typeof entries,
  { rounds, only }: Scale,
  run: (contestant: Contestant) => Promise<Run>,
): Promise<Map<Contestant, Run[]>> {
  return inRounds(entrants(measure, only), rounds, (contestant) => {
    console.error(`${new Date().toISOString().slice(11, 19)} ${measure}: ${contestant.name}`)
    return run(contestant)
  })
}

export function entrants(measure: keyof typeof entries, only: readonly string[]): readonly Contestant[] {
  const isWanted = ({ name }: Contestant) => only.some((start) => name.toLowerCase().startsWith(start.toLowerCase()))
  return only.length === 0 ? entries[measure] : entries[measure].filter(isWanted)
}
