// The work in the processes of a contestant. Every function is called through `inChildren` and ends with the process.
import { setTimeout as sleep } from 'node:timers/promises'
import { contestantOf, type Job, type Queue, type Subject } from './contestant.ts'
import type { Gate } from './in-child.ts'
import { mono, preciseWall } from './moment.ts'
import { payload } from './payload.ts'
import { startMeter, type Usage } from './usage.ts'

/** Jobs to be there beforehand: all due at once, or spread at random from an instant on. */
export interface Filling {
  readonly count: number
  /** Jobs far from due that were there before them. Default: none. */
  readonly resting?: number
  readonly dueFrom?: number
  readonly spreadMs?: number
  /** So many keys take turns among the jobs. Default: none has a key. */
  readonly keys?: number
}

export interface Worked {
  /** The jobs that ran in this process, by number. */
  readonly ran: Uint32Array
  readonly startedAt: number
  readonly endedAt: number
  readonly cpu: Usage
}

export async function fill(subject: Subject, filling: Filling): Promise<void> {
  const { queue } = await open(subject)
  await queue.enqueueMany(jobsOf(filling))
  await queue.close()
}

/** Works off what is there. */
export async function drain(subject: Subject, filling: Filling, gate: Gate): Promise<Worked> {
  const { queue, meter } = await openFilled(subject, filling)
  const ran: number[] = []
  await gate()
  const startedAt = mono()
  const cpu = meter()
  await queue.work(({ n }) => void ran.push(n))
  // The store is only asked when nothing has run for a while: some count row by row.
  for (let before = -1; before !== ran.length || !(await queue.isDrained(filling.resting ?? 0)); ) {
    before = ran.length
    await sleep(ran.length < filling.count ? 10 : 2)
  }
  const worked = { ran: Uint32Array.from(ran), startedAt, endedAt: mono(), cpu: cpu() }
  await queue.close()
  return worked
}

/** Enqueues a job every `everyMs` on a worker that has nothing else to do. Returns the times from the call to the handler's start. */
export async function pickup(subject: Subject, count: number, everyMs: number, gate: Gate): Promise<PickedUp> {
  const { queue } = await open(subject)
  const picked = listen(queue, count)
  await picked.listening
  await gate()
  await enqueueEvery(queue, count, everyMs)
  await picked.all
  await queue.close()
  return { ran: picked.ran, millis: picked.millis }
}

export interface PickedUp {
  readonly ran: number[]
  readonly millis: number[]
}

/** The worker's part of a pickup across processes. */
export async function pickUp(subject: Subject, count: number, gate: Gate): Promise<PickedUp> {
  const { queue } = await open(subject)
  const picked = listen(queue, count)
  await picked.listening
  await gate()
  await picked.all
  await queue.close()
  return { ran: picked.ran, millis: picked.millis }
}

/** The producer's part of a pickup across processes. */
export async function produce(subject: Subject, count: number, everyMs: number, gate: Gate): Promise<void> {
  const { queue } = await open(subject)
  await gate()
  await enqueueEvery(queue, count, everyMs)
  await queue.close()
}

export interface Late {
  readonly ran: number[]
  /** Start less due of each, in milliseconds. */
  readonly millis: number[]
  /** How many started before they were due. */
  readonly early: number
  readonly cpu: Usage
}

/** Runs jobs that come due one after the other and compares each start with its due instant. */
export async function lateness(subject: Subject, filling: Filling, gate: Gate): Promise<Late> {
  const { queue, meter } = await openFilled(subject, filling)
  const wall = preciseWall()
  const late = { ran: [] as number[], millis: [] as number[], early: 0 }
  const all = Promise.withResolvers<void>()
  await gate()
  const cpu = meter()
  await queue.work(({ n, at }) => {
    if (Date.now() < at) late.early++
    late.millis.push(wall() - at)
    if (late.ran.push(n) === filling.count) all.resolve()
  })
  if (Date.now() > (filling.dueFrom ?? 0)) throw new Error('The first jobs were due before the worker was ready')
  await all.promise
  const used = cpu()
  await queue.close()
  return { ...late, cpu: used }
}

/** How quickly it went, and what it took. */
export interface Pace {
  readonly perSecond: number
  readonly cpu: Usage
}

/** Enqueues `count` jobs by `callers` that each await their own before the next; `bulk` at a time when given; `warmUp` jobs before. */
export async function enqueue(
  subject: Subject,
  count: number,
  { callers = 1, bulk = 0, warmUp = 0 }: { callers?: number; bulk?: number; warmUp?: number },
  gate: Gate,
): Promise<Pace> {
  const { queue, meter } = await open(subject)
  let n = 0
  const callUntil = async (end: number) => {
    while (n < end) {
      if (bulk === 0) await queue.enqueue({ payload: payload(n++) })
      else await queue.enqueueMany(Array.from({ length: Math.min(bulk, end - n) }, () => ({ payload: payload(n++) })))
    }
  }
  const all = (end: number) => Promise.all(Array.from({ length: callers }, () => callUntil(end)))
  await all(warmUp)
  await gate()
  const startedAt = mono()
  const cpu = meter()
  await all(warmUp + count)
  const enqueued = { perSecond: (count * 1000) / (mono() - startedAt), cpu: cpu() }
  await queue.close()
  return enqueued
}

/** Deletes `count` jobs that were done long ago. */
export async function forget(subject: Subject, count: number, gate: Gate): Promise<Pace> {
  const { queue, meter } = await open(subject)
  if (!queue.forget) throw new Error(`${subject.name} deletes nothing on demand`)
  await gate()
  const startedAt = mono()
  const cpu = meter()
  await queue.forget(count)
  const forgotten = { perSecond: (count * 1000) / (mono() - startedAt), cpu: cpu() }
  await queue.close()
  return forgotten
}

/** The shares of a core, in percent, that a worker and its server take for `overMs` while nothing is due. */
export async function idle(subject: Subject, filling: Filling, overMs: number, gate: Gate): Promise<Usage> {
  const { queue, meter } = await openFilled(subject, filling)
  await gate()
  await queue.work(() => {})
  await sleep(2000)
  const startedAt = mono()
  const cpu = meter()
  await sleep(overMs)
  const { own, server } = cpu()
  const millis = mono() - startedAt
  await queue.close()
  return { own: own / 10 / millis, server: server / 10 / millis }
}

interface Opened {
  readonly queue: Queue
  readonly isShared: boolean
  /** Begins to count CPU time. */
  meter(): () => Usage
}

async function open(subject: Subject): Promise<Opened> {
  const contestant = await contestantOf(subject)
  const queue = await contestant.open(subject.place)
  return { queue, isShared: contestant.isShared, meter: () => startMeter(contestant) }
}

/** A store that one process alone can see is filled by that process. */
async function openFilled(subject: Subject, filling: Filling): Promise<Opened> {
  const opened = await open(subject)
  if (!opened.isShared) await opened.queue.enqueueMany(jobsOf(filling))
  return opened
}

function jobsOf({ count, dueFrom, spreadMs = 0, keys }: Filling): Job[] {
  return Array.from({ length: count }, (_, n) => {
    if (dueFrom === undefined) return { payload: payload(n), ...(keys !== undefined && { key: `key-${n % keys}` }) }
    const dueAt = dueFrom + Math.floor(Math.random() * spreadMs)
    return { payload: payload(n, dueAt), dueAt }
  })
}

function listen(queue: Queue, count: number): PickedUp & { readonly listening: Promise<void>; readonly all: Promise<void> } {
  const all = Promise.withResolvers<void>()
  const ran: number[] = []
  const millis: number[] = []
  const listening = queue.work(({ n, at }) => {
    millis.push(mono() - at)
    if (ran.push(n) === count) all.resolve()
  })
  return { ran, millis, listening, all: all.promise }
}

async function enqueueEvery(queue: Queue, count: number, everyMs: number): Promise<void> {
  const startedAt = mono()
  for (let n = 0; n < count; n++) {
    // At a random moment of each period: no poll can fall into step with it.
    await sleep(Math.max(0, startedAt + (n + Math.random() / 2) * everyMs - mono()))
    await queue.enqueue({ payload: payload(n, mono()) })
  }
}
