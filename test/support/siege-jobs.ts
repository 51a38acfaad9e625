import type { Occurrence } from '../../src/client/occurrence-view.ts'
import type { Context } from '../../src/model/context.ts'
import { type AnyDefinition, defineJob } from '../../src/model/definition.ts'
import { interval } from '../../src/schedule/interval.ts'
import { type Clock, sleep } from '../../src/time/clock.ts'
import type { Node } from './cluster.ts'
import type { NodeClock } from './node-clock.ts'
import { Books, Charges, type Work, withChildren } from './siege-effects.ts'
import { Rota } from './siege-rota.ts'

/** One node and what the nemesis has done to it. */
export interface Victim extends Node {
  readonly clock: NodeClock
  isCrashed: boolean
  isStalled: boolean
  cutUntil: number
  /** Until when its event loop does nothing, and a while more: back again, it learns what it has lost. */
  blockedUntil: number
}

/** A handler that runs somewhere. */
interface Running {
  readonly by: Victim
  readonly signal: AbortSignal
}

export const keys = ['a', 'b', 'c']
/** At most so many starts of `rated` within this time. */
const rate = { limit: 2, per: 5000 }
const retry = { max: 50, interval: 500, factor: 1 }

/** The jobs of a siege. Their handlers take a while, fail now and then, and watch what is promised while they run. */
export class SiegeJobs {
  readonly faults: string[] = []
  readonly heard = new Set<string>()
  readonly charges = new Charges(this.faults)
  readonly books = new Books()
  readonly rota: Rota
  /** Rescheduled work keeps its `scheduledAt` and may run before it. */
  readonly moved = new Set<string>()
  /** The first starts under a key, in order. */
  readonly starts: string[] = []
  readonly #below: (limit: number) => number
  readonly #clock: Clock
  readonly #running = new Map<string, Running>()
  /** The runs under each key that allows one. */
  readonly #holders = new Map<string, Map<string, Running>>()
  /** Starts of rated work, by tenant: keys belong to a tenant. */
  readonly #rated = new Map<string, number[]>()
  /** Values of attempts that returned after their time was over. */
  readonly #late = new Set<string>()

  constructor(clock: Clock, below: (limit: number) => number) {
    this.#clock = clock
    this.#below = below
    this.rota = new Rota(below, clock.wall())
  }

  definitions(by: () => Victim, { isSpecialist, hasBooks }: { isSpecialist: boolean; hasBooks: boolean }): AnyDefinition[] {
    const plain: Work = (ctx) => this.work(by(), ctx)
    const work = plain as never
    const alone: Work = (ctx) => this.#workAlone(by(), ctx, `${ctx.tenant} keyed ${ctx.payload}`)
    const inTurn: Work = (ctx) => this.#workAlone(by(), ctx, 'cron')
    const rated: Work = (ctx) => this.#workRated(by(), ctx)
    const stubborn: Work = (ctx) => this.#workOn(ctx)
    const jobs: AnyDefinition[] = [
      defineJob('one', { retry }).task('only', work),
      defineJob('many', { retry, mode: 'graph' })
        .task('a', work)
        .task('b', work)
        .task('c', { after: ['a', 'b'] }, work),
      defineJob('held', { retry, mode: 'parallel', onFailure: 'hold' }).task('a', work).task('b', work),
      defineJob('hooked', {
        retry: { max: 1, interval: 500 },
        onComplete: ({ occurrenceId }) => void this.heard.add(occurrenceId),
      }).task('only', work),
      defineJob<string>('keyed', { retry, concurrency: { key: (payload: string) => payload, limit: 1 } }).task(
        'only',
        alone as never,
      ),
      defineJob('rated', { retry, rate: { key: 'api', ...rate } }).task('only', rated as never),
      defineJob('paid', { retry }).task('only', this.charges.paid(plain, () => by().isCrashed) as never),
      defineJob('family', { retry }).task('only', withChildren(plain) as never),
      defineJob('stubborn', { retry, timeout: 6000, executionTimeout: 20_000 }).task('only', stubborn as never),
      defineJob('prompt', { retry, startWithin: '15s' }).task('only', work),
      defineJob('tick', { schedule: interval('PT7S'), overlap: 'allow', retry }).task('only', work),
      defineJob('cron', { schedule: interval('PT11S'), retry }).task('only', inTurn as never),
      this.rota.definition(plain),
    ]
    if (isSpecialist) jobs.push(defineJob('special', { retry }).task('only', work))
    if (hasBooks) {
      jobs.push(defineJob('booked', { retry }).task('only', this.books.booked(plain) as never))
      jobs.push(defineJob('ledger', { retry }).task('only', this.books.read as never))
    }
    return jobs
  }

  /** A handler that takes a while, fails now and then, and stops at its signal. Each attempt returns another value. */
  async work(by: Victim, ctx: Context<never, object>): Promise<string> {
    const { occurrenceId, task, scheduledAt, signal } = ctx
    const key = `${occurrenceId} ${task}`
    const other = this.#running.get(key)
    if (other && other.by !== by && this.#isAlive(other)) this.faults.push(`${key} runs on two nodes at once`)
    if (scheduledAt.getTime() > this.#clock.wall() && !this.moved.has(occurrenceId)) this.faults.push(`${key} started early`)
    const mine = { by, signal }
    this.#running.set(key, mine)
    await sleep(by.clock, this.#below(this.#below(4) === 0 ? 40_000 : 3000), signal)
    if (this.#running.get(key) === mine) this.#running.delete(key)
    if (signal.aborted) throw signal.reason
    if (this.#below(10) === 0) throw new Error('now and then')
    return madeBy(ctx.attemptId)
  }

  /** Faults of the recorded results: each must come from the attempt on record, within its time. */
  resultFaults({ id, job, tasks }: Occurrence): string[] {
    if (['paid', 'ledger'].includes(job) || job.startsWith('punctual/')) return []
    return tasks.flatMap(({ name, state, result, attempts }) => {
      const value = madeBy(attempts.at(-1)?.id ?? '')
      if (state !== 'succeeded' || result === 'canary' || (result === value && !this.#late.has(value))) return []
      return [`${job} ${id} has ${result} as the result of ${name}, from another attempt than ${value}`]
    })
  }

  async #workAlone(by: Victim, ctx: Context<never, object>, key: string): Promise<string> {
    const holders = this.#holders.get(key) ?? new Map<string, Running>()
    this.#holders.set(key, holders)
    for (const [id, holder] of holders)
      if (id !== ctx.occurrenceId && this.#isAlive(holder))
        this.faults.push(`${id} and ${ctx.occurrenceId} run at once under ${key}`)
    holders.set(ctx.occurrenceId, { by, signal: ctx.signal })
    if (!this.starts.includes(ctx.occurrenceId)) this.starts.push(ctx.occurrenceId)
    try {
      return await this.work(by, ctx)
    } finally {
      holders.delete(ctx.occurrenceId)
    }
  }

  #workRated(by: Victim, ctx: Context<never, object>): Promise<string> {
    const now = this.#clock.wall()
    const recent = (this.#rated.get(ctx.tenant) ?? []).filter((at) => at > now - rate.per).concat(now)
    this.#rated.set(ctx.tenant, recent)
    if (recent.length > rate.limit) this.faults.push(`${recent.length} starts of rated work within ${rate.per} ms`)
    return this.work(by, ctx)
  }

  /** Ignores its signal, and often takes longer than it may. */
  async #workOn({ attemptId, signal }: Context<never, object>): Promise<string> {
    await sleep(this.#clock, this.#below(9000))
    if (signal.aborted && signal.reason.code === 'timeout') this.#late.add(madeBy(attemptId))
    return madeBy(attemptId)
  }

  #isAlive({ by, signal }: Running): boolean {
    return !by.isCrashed && !signal.aborted && by.blockedUntil <= this.#clock.mono()
  }
}

function madeBy(attemptId: string): string {
  return `by ${attemptId}`
}
