import type { Punctual } from '../../src/client/punctual.ts'
import type { Context } from '../../src/model/context.ts'
import { type AnyDefinition, defineJob } from '../../src/model/definition.ts'
import { interval } from '../../src/schedule/interval.ts'
import { seededRandom } from '../../src/testing/store-suite/seeded-random.ts'
import { sleep } from '../../src/time/clock.ts'
import { type Cluster, type Node, newCluster } from './cluster.ts'
import type { Connect } from './each-store.ts'
import { Charges, type Work, withChildren } from './siege-effects.ts'

/** One node and what the nemesis has done to it. */
interface Victim extends Node {
  isCrashed: boolean
  isStalled: boolean
  cutUntil: number
}

/** A handler that runs somewhere. */
interface Running {
  readonly by: Victim
  readonly signal: AbortSignal
}

const verbs = ['claim', 'settle', 'checkpoint', 'beat', 'plan', 'rescue', 'nodes', 'create', 'cancel'] as const
const keys = ['a', 'b', 'c']
const enqueued = ['one', 'many', 'keyed', 'held', 'hooked', 'special', 'rated', 'paid', 'family'] as const
/** At most so many starts of `rated` within this time. */
const rate = { limit: 2, per: 5000 }

/**
 * A cluster under a nemesis. Nodes are cut off, crash, stop and come back, answers are lost; nodes serve different jobs, canaries come
 * and go, work is canceled, replayed and paused, effects are cut in the middle. Broken invariants are listed in `faults`.
 */
export class Siege {
  readonly cluster: Cluster
  readonly faults: string[] = []
  readonly created = new Set<string>()
  readonly heard = new Set<string>()
  readonly charges = new Charges(this.faults)
  readonly #random: () => number
  readonly #victims: Victim[] = []
  readonly #running = new Map<string, Running>()
  /** The runs under each key that allows one. */
  readonly #holders = new Map<string, Map<string, Running>>()
  readonly #rated: number[] = []
  /** Rescheduled work keeps its `scheduledAt` and may run before it. */
  readonly #moved = new Set<string>()

  constructor(seed: number, connect: Connect) {
    this.cluster = newCluster({ connect })
    this.#random = seededRandom(seed)
  }

  async run(steps: number): Promise<void> {
    for (let count = 0; count < 3; count++) await this.#join(count > 0)
    for (let step = 0; step < steps; step++) await this.#step()
  }

  /** Everything heals. All must come to its end within a bound, and every key must be free then. */
  async calm(): Promise<Node> {
    for (const victim of this.#victims) if (!victim.isCrashed) heal(victim)
    await this.#join(true)
    const last = this.#victims.at(-1) as Victim
    for (const job of enqueued) await last.punctual.resume(job).catch(() => {})
    await this.cluster.pass(240)
    await this.#expectDrained(last.punctual, 600)
    await this.#expectFreeKeys(last.punctual)
    return last
  }

  async #expectDrained(punctual: Punctual, seconds: number): Promise<void> {
    const open = async () => {
      const states = ['pending', 'waiting', 'running', 'retrying'] as const
      const { items } = await punctual.list({ state: [...states], limit: 500 })
      return items.filter(({ job }) => job !== 'tick' && job !== 'cron')
    }
    for (let passed = 0; passed < seconds && (await open()).length > 0; passed += 30) await this.cluster.pass(30)
    for (const { id, job, state } of await open()) this.faults.push(`${job} ${id} is ${state} for ever`)
  }

  async #expectFreeKeys(punctual: Punctual): Promise<void> {
    const made = await punctual.enqueueMany(keys.map((key) => ({ job: 'keyed', payload: key })))
    for (const { id } of made) this.created.add(id)
    await this.cluster.pass(60)
    await this.#expectDrained(punctual, 120)
  }

  async #step(): Promise<void> {
    const { clock } = this.cluster
    for (const victim of this.#victims) if (!victim.isCrashed && victim.cutUntil <= clock.mono()) heal(victim)
    const awake = this.#victims.filter((victim) => !victim.isCrashed && !victim.isStalled)
    const victim = awake[this.#below(awake.length)]
    if (victim) await this.#act(victim)
    await clock.advance(this.#below(4000))
  }

  async #act(victim: Victim): Promise<void> {
    const dice = this.#below(34)
    if (dice < 8) await this.#enqueue(victim)
    else if (dice < 11) this.#cut(victim)
    else if (dice < 15) victim.store.loseAnswer(verbs[this.#below(verbs.length)] as (typeof verbs)[number])
    else if (dice < 16) await this.#crash(victim)
    else if (dice < 18) await this.#restart(victim)
    else if (dice < 20) await this.#cancel(victim)
    else if (dice < 21) await this.#pauseOrResume(victim)
    else if (dice < 22) await this.#replay(victim)
    else if (dice < 23) await this.#canary()
    else if (dice < 26) this.#stall(victim)
    else if (dice < 28) await this.#enqueueByKey(victim)
    else if (dice < 29) await this.#reschedule(victim)
    else if (dice < 30) await this.#trigger(victim)
  }

  #cut(victim: Victim): void {
    victim.store.cut()
    victim.cutUntil = this.cluster.clock.mono() + this.#below(40_000)
  }

  /** Its calls reach the store late, after others may have taken it for gone. */
  #stall(victim: Victim): void {
    victim.store.stall()
    victim.isStalled = true
    victim.cutUntil = this.cluster.clock.mono() + this.#below(40_000)
  }

  async #crash(victim: Victim): Promise<void> {
    victim.store.freeze()
    victim.isCrashed = true
    await this.#join(this.#below(2) === 0)
  }

  async #restart(victim: Victim): Promise<void> {
    if (victim.cutUntil > this.cluster.clock.mono()) return
    const stopped = victim.punctual.stop({ grace: '3s' })
    await this.cluster.clock.advance('10s')
    await stopped
    await victim.punctual.start()
  }

  async #cancel({ punctual }: Victim): Promise<void> {
    const page = await punctual.list({ state: ['pending', 'waiting', 'retrying', 'running'], limit: 50 }).catch(() => null)
    const some = page?.items[this.#below(page.items.length || 1)]
    if (some && some.job !== 'tick') await punctual.cancel(some.id).catch(() => {})
  }

  /** At most one occurrence with the key is live at a time. */
  async #enqueueByKey({ punctual }: Victim): Promise<void> {
    const key = keys[this.#below(keys.length)] as string
    const made = await punctual.enqueue('one', key, { key, delay: this.#below(9000) }).catch(() => null)
    if (made) this.created.add(made.id)
    const live = await punctual.list({ job: 'one', key, state: ['pending', 'waiting', 'retrying', 'running'] }).catch(() => null)
    if (live && live.items.length > 1) this.faults.push(`${live.items.length} live occurrences have the key ${key}`)
  }

  async #reschedule({ punctual }: Victim): Promise<void> {
    const key = keys[this.#below(keys.length)] as string
    const found = await punctual.get({ job: 'one', key }).catch(() => null)
    if (!found) return
    this.#moved.add(found.id)
    await punctual.reschedule(found.id, { delay: this.#below(9000) }).catch(() => {})
  }

  async #trigger({ punctual }: Victim): Promise<void> {
    const made = await punctual.trigger(this.#below(2) === 0 ? 'cron' : 'tick').catch(() => null)
    if (made) this.created.add(made.id)
  }

  async #pauseOrResume({ punctual }: Victim): Promise<void> {
    const job = enqueued[this.#below(enqueued.length)] as string
    if (this.#below(2) === 0) await punctual.pause(job, { until: new Date(this.cluster.clock.wall() + 8000) }).catch(() => {})
    else await punctual.resume(job).catch(() => {})
  }

  async #replay({ punctual }: Victim): Promise<void> {
    const page = await punctual.list({ state: ['completed'], limit: 50 }).catch(() => null)
    const some = page?.items[this.#below(page.items.length || 1)]
    if (some) await punctual.replay(some.id, { reason: 'again' }).catch(() => {})
  }

  /** A deployment that is aborted: its node declares another task, lives for a while and leaves. */
  async #canary(): Promise<void> {
    const work: Work = (ctx) => this.#work(canary, ctx)
    const job = defineJob('one', { retry: { max: 50, interval: 500, factor: 1 } })
      .task('only', work as never)
      .task('more', () => 'canary')
    const canary: Victim = Object.assign(this.cluster.client({ jobs: [job], concurrency: 1 }), {
      isCrashed: false,
      isStalled: false,
      cutUntil: 0,
    })
    await canary.punctual.start()
    await this.cluster.clock.advance(this.#below(6000))
    const closed = canary.punctual.close()
    await this.cluster.clock.advance('40s')
    await closed
  }

  async #join(isSpecialist: boolean): Promise<void> {
    const victim: Victim = Object.assign(this.cluster.client({ jobs: this.#jobs(() => victim, isSpecialist), concurrency: 3 }), {
      isCrashed: false,
      isStalled: false,
      cutUntil: 0,
    })
    this.#victims.push(victim)
    await victim.punctual.start()
  }

  async #enqueue({ punctual }: Victim): Promise<void> {
    const requests = Array.from({ length: 1 + this.#below(4) }, (_, at) => ({
      job: enqueued[this.#below(enqueued.length)] as string,
      idempotencyKey: `${this.created.size}-${at}`,
      payload: keys[this.#below(keys.length)],
      delay: this.#below(5000),
    }))
    const answers = await punctual.enqueueMany(requests).catch(() => [])
    for (const { id } of answers) this.created.add(id)
  }

  #jobs(by: () => Victim, isSpecialist: boolean): AnyDefinition[] {
    const work = ((ctx: Context<never, object>) => this.#work(by(), ctx)) as never
    const alone = ((ctx: Context<string, object>) => this.#workAlone(by(), ctx as never, `keyed ${ctx.payload}`)) as never
    const inTurn = ((ctx: Context<never, object>) => this.#workAlone(by(), ctx, 'cron')) as never
    const retry = { max: 50, interval: 500, factor: 1 }
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
      defineJob<string>('keyed', { retry, concurrency: { key: (payload: string) => payload, limit: 1 } }).task('only', alone),
      defineJob('rated', { retry, rate: { key: 'api', ...rate } }).task('only', ((ctx: Context<never, object>) =>
        this.#workRated(by(), ctx)) as never),
      defineJob('paid', { retry }).task('only', this.charges.paid(work, () => by().isCrashed) as never),
      defineJob('family', { retry }).task('only', withChildren(work) as never),
      defineJob('tick', { schedule: interval('PT7S'), overlap: 'allow', retry }).task('only', work),
      defineJob('cron', { schedule: interval('PT11S'), retry }).task('only', inTurn),
    ]
    if (isSpecialist) jobs.push(defineJob('special', { retry }).task('only', work))
    return jobs
  }

  async #workAlone(by: Victim, ctx: Context<never, object>, key: string): Promise<string> {
    const holders = this.#holders.get(key) ?? new Map<string, Running>()
    this.#holders.set(key, holders)
    for (const [id, holder] of holders)
      if (id !== ctx.occurrenceId && isAlive(holder)) this.faults.push(`${id} and ${ctx.occurrenceId} run at once under ${key}`)
    holders.set(ctx.occurrenceId, { by, signal: ctx.signal })
    try {
      return await this.#work(by, ctx)
    } finally {
      holders.delete(ctx.occurrenceId)
    }
  }

  #workRated(by: Victim, ctx: Context<never, object>): Promise<string> {
    const now = this.cluster.clock.wall()
    this.#rated.push(now)
    const recent = this.#rated.filter((at) => at > now - rate.per).length
    if (recent > rate.limit) this.faults.push(`${recent} starts of rated work within ${rate.per} ms`)
    return this.#work(by, ctx)
  }

  /** A handler that takes a while, fails now and then, and stops at its signal. */
  async #work(by: Victim, { occurrenceId, task, scheduledAt, signal }: Context<never, object>): Promise<string> {
    const key = `${occurrenceId} ${task}`
    const other = this.#running.get(key)
    if (other && other.by !== by && isAlive(other)) this.faults.push(`${key} runs on two nodes at once`)
    if (scheduledAt.getTime() > this.cluster.clock.wall() && !this.#moved.has(occurrenceId))
      this.faults.push(`${key} started early`)
    const mine = { by, signal }
    this.#running.set(key, mine)
    await sleep(this.cluster.clock, this.#below(this.#below(4) === 0 ? 40_000 : 3000), signal)
    if (this.#running.get(key) === mine) this.#running.delete(key)
    if (signal.aborted) throw signal.reason
    if (this.#below(10) === 0) throw new Error('now and then')
    return 'done'
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }
}

function heal(victim: Victim): void {
  victim.store.heal()
  victim.isStalled = false
}

function isAlive({ by, signal }: Running): boolean {
  return !by.isCrashed && !signal.aborted
}
