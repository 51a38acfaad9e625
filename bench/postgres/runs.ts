// One run of one contestant, checked for every job having run exactly once, and its figures.
import type { Contestant } from '../harness/contestant.ts'
import { checkExactlyOnce } from '../harness/exactly-once.ts'
import { act, atPlace, inPlace } from '../harness/in-place.ts'
import type { PickedUp } from '../harness/measures.ts'
import { percentile } from '../harness/statistics.ts'
import { together, type Usage } from '../harness/usage.ts'

/** A place that stays, and what it holds beside the measured jobs. */
export interface LoadedPlace {
  readonly place: string
  readonly resting: number
}

export interface Drained {
  readonly perSecond: number
  /** Per job, in microseconds. */
  readonly cpu: Usage
}

/** Works off `count` jobs that are all there, on a fresh place unless one is given. */
export async function drainOnce(
  contestant: Contestant,
  { count, processes, keys }: { count: number; processes: number; keys?: number },
  loaded?: LoadedPlace,
): Promise<Drained> {
  const filling = { count, resting: loaded?.resting ?? 0, ...(keys !== undefined && { keys }) }
  const acts = Array.from({ length: processes }, () => act('drain', filling))
  const workers = await (loaded ? atPlace(contestant, loaded.place, filling, ...acts) : inPlace(contestant, filling, ...acts))
  checkExactlyOnce(
    count,
    workers.map(({ ran }) => ran),
  )
  const millis = Math.max(...workers.map(({ endedAt }) => endedAt)) - Math.min(...workers.map(({ startedAt }) => startedAt))
  return { perSecond: (count * 1000) / millis, cpu: perJob(together(workers.map(({ cpu }) => cpu)), count) }
}

export interface Delays {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Enqueues a job every `everyMs` on an idle worker, from its own process or from another. */
export async function pickupOnce(contestant: Contestant, count: number, everyMs: number, from: 'own' | 'other'): Promise<Delays> {
  const [picked] =
    from === 'own'
      ? await inPlace(contestant, null, act('pickup', count, everyMs))
      : await inPlace(contestant, null, act('pickUp', count), act('produce', count, everyMs))
  return delaysOf(picked, count)
}

export interface Lateness extends Delays {
  /** Per job, in microseconds. */
  readonly cpu: Usage
}

/** Runs `count` jobs that come due at random within `spreadMs`, on a fresh place unless one is given. */
export async function latenessOnce(
  contestant: Contestant,
  { count, spreadMs }: { count: number; spreadMs: number },
  loaded?: LoadedPlace,
): Promise<Lateness> {
  const place = loaded?.place ?? (await contestant.makePlace())
  try {
    // Late enough for the place to be filled and settled, and for the worker to be ready.
    const filling = { count, spreadMs, dueFrom: Date.now() + (loaded ? 25_000 : 8000), resting: loaded?.resting ?? 0 }
    const [late] = await atPlace(contestant, place, filling, act('lateness', filling))
    if (late.early > 0) throw new Error(`${contestant.name} started ${late.early} jobs before they were due`)
    return { ...delaysOf(late, count), cpu: perJob(late.cpu, count) }
  } finally {
    if (!loaded) await contestant.removePlace(place)
  }
}

export function perJob({ own, server }: Usage, count: number): Usage {
  return { own: own / count, server: server / count }
}

function delaysOf({ ran, millis }: PickedUp, count: number): Delays {
  checkExactlyOnce(count, [ran])
  return { p50: percentile(millis, 50), p99: percentile(millis, 99), max: percentile(millis, 100) }
}
