import { cron } from '../../src/schedule/cron.ts'
import type { Store } from '../../src/store/store.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const batch = 500
const node = 'filler'
const definition = 'report'

export interface Amount {
  readonly jobs: number
  readonly occurrences: number
  readonly days: number
}

export const jobName = (n: number) => `report-${String(n).padStart(5, '0')}`
const tenantOf = (n: number) => (n % 3 === 0 ? 'default' : `tenant-${n % 40}`)

/** A clock that is moved by hand and has no timers: the store is used without an engine. */
class Hands {
  at: number
  constructor(at: number) {
    this.at = at
  }
  wall = () => this.at
  mono = () => this.at
  timer = () => () => {}
  poll = () => () => {}
  soon = () => {}
}

/** Fills a store through its own verbs with jobs and a past of some days, in which most runs succeed, some fail and a few die. */
export async function fill(store: Store, { jobs, occurrences, days }: Amount): Promise<void> {
  const clock = new Hands(Date.now() - days * dayMs)
  await store.open({ clock, random: Math.random })
  await store.beat({ claims: [], inFlight: [], long: [], phase: 'join', node: nodeInfo })
  for (let n = 0; n < jobs; n++) await putJob(store, n)
  const batches = Math.ceil(occurrences / batch)
  for (let at = 0; at < batches; at++) {
    clock.at += (days * dayMs) / batches
    if (at % 200 === 0) await store.beat({ claims: [], inFlight: [], long: [], phase: 'stay', node: nodeInfo })
    await runBatch(store, clock, at, jobs)
    if (at % 400 === 0) console.error(`${at * batch} of ${occurrences} occurrences`)
  }
  await store.beat({ claims: [], inFlight: [], long: [], phase: 'leave', node: nodeInfo })
  await store.close()
}

const nodeInfo = {
  ...{ boot: node, name: node, pid: 1, concurrency: batch, kinds: [definition], version: '0', tz: '', ttlMs: 400 * dayMs },
  ...{ release: null, declares: {}, picks: false, isDraining: false, parts: {} },
}

async function putJob(store: Store, n: number): Promise<void> {
  const spec = {
    definition,
    schedule: cron(`${n % 60} ${n % 24} * * *`).toJSON(),
    ...{ payload: null, settings: {}, defaults: {}, tasks: [{ name: 'run' }], isEnabled: true, isRetired: false },
  }
  await store.putJob({ tenant: tenantOf(n), name: jobName(n), spec, declared: spec, override: null, effectiveAt: null, by: null })
}

async function runBatch(store: Store, clock: Hands, number: number, jobs: number): Promise<void> {
  const rows = Array.from({ length: batch }, (_, at) => {
    const n = (number * batch + at) % jobs
    return {
      ...{ id: crypto.randomUUID(), tenant: tenantOf(n), job: jobName(n), definition, source: 'deferred' as const },
      ...{ key: `order-${number * batch + at}`, unique: 'live' as const, entity: `customer-${n % 500}`, parent: null, refs: {} },
      ...{ payload: '{"order":1}', settings: null, priority: 5, limits: null, replay: null, startWithinMs: null },
      ...{ isHooked: false, version: 1, due: clock.at - 1, scheduledAt: null, onConflict: 'keep' as const },
    }
  })
  const claim = { id: `c${number}`, token: 't' }
  await store.create(rows)
  const { members } = await store.claim({ ...claim, node, kinds: [definition], limit: batch })
  const startedAt = clock.at
  clock.at += 800
  const items = members.map((member, at) => ({
    claim,
    member,
    end: endOf(number * batch + at, startedAt),
    attempts: [],
    delayMs: 0,
  }))
  await store.settle(items, { done: [claim] })
  if (Date.now() - clock.at < dayMs) await store.figures({ id: `f${number}`, rows: figuresOf(items, clock.at) })
}

function endOf(n: number, startedAt: number) {
  const isDead = n % 211 === 0
  const isFailed = !isDead && n % 53 === 0
  const error = isDead || isFailed ? { message: `connect ECONNREFUSED 10.0.0.${n % 7}`, name: `Error${n % 5}` } : null
  return {
    end: isDead ? ('dead' as const) : isFailed ? ('failed' as const) : ('completed' as const),
    attempt: error ? ('failed' as const) : ('succeeded' as const),
    ...{ startedAt, endedAt: startedAt + 100 + (n % 700), result: null, error, settings: null, tasks: null, reason: null },
  }
}

type Ended = {
  readonly member: { readonly record: { readonly tenant: string; readonly job: string } }
  readonly end: { readonly end: string }
}

function figuresOf(items: readonly Ended[], now: number) {
  const at = Math.floor(now / 60_000) * 60_000
  const count = (some: readonly Ended[]) => ({
    completed: some.filter(({ end }) => end.end === 'completed').length,
    failed: some.filter(({ end }) => end.end !== 'completed').length,
  })
  const byJob = items.map((one) => ({ ...one.member.record, figure: count([one]) }))
  return [{ tenant: '', job: '', figure: count(items) }, ...byJob].map(({ tenant, job, figure }) => ({
    ...{ tenant, job, at, widthMs: 60_000, figure: figure as never },
  }))
}
