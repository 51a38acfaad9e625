import { type Aspect, type Bar, compare, goalCell, ratioCell } from '../harness/comparison.ts'
import type { Contestant } from '../harness/contestant.ts'
import { act, atPlace } from '../harness/in-place.ts'
import type { Pace } from '../harness/measures.ts'
import { figure, type Page } from '../harness/page.ts'
import { spread } from '../harness/statistics.ts'
import { isPeer } from './contestants.ts'
import { type Drained, drainOnce, type Lateness, type LoadedPlace, latenessOnce, perJob } from './runs.ts'
import type { Scale } from './scale.ts'
import { drainAspects, entrants, latenessAspects, measured } from './tables.ts'

/** The goal: the share of a figure that is left when the tables are full. */
const flat = 0.85

/** The same run without the load and with it. */
interface Pair<Run> {
  readonly bare: Run
  readonly loaded: Run
}

/** Drains and lateness on places that hold many future and past jobs, each next to a run on an empty place. */
export async function loadedTables(page: Page, scale: Scale): Promise<Bar[]> {
  const places = new Map<Contestant, LoadedPlace>()
  try {
    for (const contestant of entrants('loaded', scale.only)) places.set(contestant, await loadedPlace(contestant, scale))
    const bars = [...(await drainTables(page, scale, places)), ...(await latenessTable(page, scale, places))]
    // The last, since it takes away from what the others are measured with.
    await retentionTable(page, scale, places)
    return bars
  } finally {
    for (const [contestant, { place }] of places) await contestant.removePlace(place)
  }
}

async function loadedPlace(contestant: Contestant, { load }: Scale): Promise<LoadedPlace> {
  console.error(`Loading ${contestant.name}`)
  const place = await contestant.makePlace()
  await contestant.loadPlace?.(place, load)
  await contestant.restPlace?.(place)
  return { place, resting: load.future }
}

async function drainTables(page: Page, scale: Scale, places: ReadonlyMap<Contestant, LoadedPlace>): Promise<Bar[]> {
  const bars: Bar[] = []
  for (const processes of [1, 2]) {
    const work = { count: scale.jobs, processes }
    const results = await measured('loaded', scale, async (contestant): Promise<Pair<Drained>> => {
      return { bare: await drainOnce(contestant, work), loaded: await drainOnce(contestant, work, places.get(contestant)) }
    })
    const title = processes === 1 ? 'one worker process' : `${processes} worker processes`
    bars.push(...pairTable(page, `Drain: ${figure(scale.jobs, 0)} jobs, ${title}`, scale, results, drainAspects(title)))
  }
  return bars
}

async function latenessTable(page: Page, scale: Scale, places: ReadonlyMap<Contestant, LoadedPlace>): Promise<Bar[]> {
  const { jobs: count, seconds } = scale.late
  const work = { count, spreadMs: seconds * 1000 }
  const results = await measured('loaded', scale, async (contestant): Promise<Pair<Lateness>> => {
    return { bare: await latenessOnce(contestant, work), loaded: await latenessOnce(contestant, work, places.get(contestant)) }
  })
  const heading = `Lateness: ${figure(count, 0)} jobs due at random within ${seconds} s`
  return pairTable(page, heading, scale, results, latenessAspects('lateness'))
}

/** The cost of deleting done jobs row by row, which is the end of each job. */
async function retentionTable(page: Page, scale: Scale, places: ReadonlyMap<Contestant, LoadedPlace>): Promise<void> {
  const count = Math.ceil(scale.load.history / 40)
  const results = await measured('loaded', scale, async (contestant) => {
    const { place } = places.get(contestant) as LoadedPlace
    const [forgotten] = await atPlace(contestant, place, null, act('forget', count))
    return { ...forgotten, cpu: perJob(forgotten.cpu, count) }
  })
  const aspects: Aspect<Pace>[] = [
    { title: 'jobs/s', of: ({ perSecond }) => perSecond },
    { title: 'worker CPU µs/job', of: ({ cpu }) => cpu.own },
    { title: 'database CPU µs/job', of: ({ cpu }) => cpu.server },
  ]
  compare(page, {
    heading: `Retention: ${figure(count, 0)} of ${figure(scale.load.history, 0)} done jobs deleted`,
    note: 'By the calls that a node makes for what is older than its retention, one after the other and without the waits between them.',
    aspects,
    results,
    isPeer,
  })
}

/** The figures with the load against the best peer with it, then what of the figures without it is kept. */
function pairTable<Run>(
  page: Page,
  heading: string,
  { load }: Scale,
  results: ReadonlyMap<Contestant, readonly Pair<Run>[]>,
  aspects: readonly Aspect<Run>[],
): Bar[] {
  const loaded = `with ${figure(load.future, 0)} future jobs and ${figure(load.history, 0)} done ones`
  const bars = compare(page, {
    heading: `${heading}, ${loaded}`,
    aspects: aspects.map(({ of, bar, ...aspect }) => ({
      ...aspect,
      of: ({ loaded }: Pair<Run>) => of(loaded),
      ...(bar !== undefined && { bar: `with load, ${bar}` }),
    })),
    results,
    isPeer,
  })
  const compared = aspects.filter(({ better }) => better !== undefined)
  const rows = [...results].map(([{ name }, pairs]) => [
    name,
    ...compared.map((aspect) => ratioCell(kept(pairs, aspect))),
    ...compared.map((aspect) => goalCell(page, kept(pairs, aspect), flat)),
  ])
  page.table(
    `${heading}: to the same without them`,
    ['', ...compared.map(({ title }) => title), ...compared.map(({ title }) => `goal, ${title}`)],
    rows,
    '1× is as good as on an empty place, less is worse.',
  )
  return bars
}

function kept<Run>(pairs: readonly Pair<Run>[], { of, better }: Aspect<Run>): ReturnType<typeof spread> {
  return spread(pairs.map(({ bare, loaded }) => (better === 'higher' ? of(loaded) / of(bare) : of(bare) / of(loaded))))
}
