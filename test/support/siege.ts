import type { Punctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { seededRandom } from '../../src/testing/store-suite/seeded-random.ts'
import { allLines, type Cluster, type Node, newCluster, occurrence } from './cluster.ts'
import type { Connect } from './each-store.ts'
import { NodeClock } from './node-clock.ts'
import type { Work } from './siege-effects.ts'
import { keys, SiegeJobs, type Victim } from './siege-jobs.ts'
import { ResultWaits } from './siege-results.ts'

const verbs = ['claim', 'settle', 'checkpoint', 'beat', 'plan', 'rescue', 'nodes', 'create', 'cancel', 'putJob', 'gate'] as const
const enqueued = ['one', 'many', 'keyed', 'held', 'hooked', 'special', 'rated', 'paid', 'family', 'stubborn', 'prompt'] as const
const scheduled = ['tick', 'cron', 'rota']
const open = ['pending', 'waiting', 'running', 'retrying'] as const

/**
 * A cluster under a nemesis. Nodes are cut off, block, crash, stop and come back with wrong clocks, answers are lost; nodes serve
 * different jobs, canaries come and go, work is canceled, moved, replayed and paused, schedules change, effects are cut in the middle.
 * Broken invariants are listed in `faults`.
 */
export class Siege {
  readonly cluster: Cluster
  readonly created = new Set<string>()
  readonly jobs: SiegeJobs
  readonly #hasBooks: boolean
  readonly #random: () => number
  readonly #victims: Victim[] = []
  readonly #results: ResultWaits
  /** The occurrence that got an idempotency key. */
  readonly #named = new Map<string, string>()

  constructor(seed: number, connect: Connect) {
    this.cluster = newCluster({ connect })
    this.#random = seededRandom(seed)
    this.jobs = new SiegeJobs(this.cluster.clock, (limit) => this.#below(limit))
    const { punctual, store } = this.cluster.client()
    this.#results = new ResultWaits(punctual)
    this.#hasBooks = store.abilities.has('tx')
  }

  get faults(): string[] {
    return this.jobs.faults
  }

  async run(steps: number): Promise<void> {
    for (let count = 0; count < 3; count++) await this.#join(count > 0)
    await this.cluster.clock.settle()
    for (let step = 0; step < steps; step++) await this.#step()
  }

  /** Everything heals. All must come to its end within a bound, and every key must be free then. */
  async calm(): Promise<Node> {
    for (const victim of this.#victims) {
      victim.clock.skew(0)
      if (!victim.isCrashed) this.#heal(victim)
    }
    await this.#join(true)
    const last = this.#victims.at(-1) as Victim
    await last.punctual.update('rota', { enabled: true })
    for (const job of [...enqueued, ...scheduled]) await last.punctual.resume(job).catch(() => {})
    await this.cluster.pass(240)
    await this.#expectDrained(last.punctual, 600)
    await this.#expectFreeKeys(last.punctual)
    this.faults.push(...(await this.#results.faults()))
    this.faults.push(...(await this.jobs.rota.faults(last.punctual, this.cluster.clock.wall())))
    return last
  }

  /** The ids in the user's own table; null on a store that shares no transactions. */
  async booked({ punctual }: Node): Promise<string[] | null> {
    if (!this.#hasBooks) return null
    const { id } = await punctual.enqueue('ledger')
    await this.cluster.pass(30)
    const { result } = await occurrence(punctual, id)
    return (JSON.parse(result as string) as { id: string }[]).map((row) => row.id)
  }

  async #expectDrained(punctual: Punctual, seconds: number): Promise<void> {
    const stillOpen = async () => (await allLines(punctual, { state: open })).filter(({ job }) => !scheduled.includes(job))
    for (let passed = 0; passed < seconds && (await stillOpen()).length > 0; passed += 30) await this.cluster.pass(30)
    for (const { id, job, state } of await stillOpen()) this.faults.push(`${job} ${id} is ${state} for ever`)
  }

  /** All keys are free, and what waits under one starts by its priority. */
  async #expectFreeKeys(punctual: Punctual): Promise<void> {
    const runAt = new Date(this.cluster.clock.wall() + 5000)
    const priorities = [7, 2, 9, 4]
    const made = await punctual.enqueueMany(
      keys.flatMap((key) => priorities.map((priority) => ({ job: 'keyed', payload: key, priority, runAt }))),
    )
    for (const { id } of made) this.created.add(id)
    await this.cluster.pass(60)
    await this.#expectDrained(punctual, 600)
    for (const [at, key] of keys.entries()) {
      const ids = made.slice(at * priorities.length, (at + 1) * priorities.length).map(({ id }) => id)
      const order = this.jobs.starts.filter((id) => ids.includes(id)).map((id) => priorities[ids.indexOf(id)])
      if (`${order}` !== '2,4,7,9') this.faults.push(`work with the priorities ${order} ran in this order under ${key}`)
    }
  }

  async #step(): Promise<void> {
    const { clock } = this.cluster
    for (const victim of this.#victims) if (!victim.isCrashed && victim.cutUntil <= clock.mono()) this.#heal(victim)
    const awake = this.#victims.filter((victim) => !victim.isCrashed && !victim.isStalled)
    const victim = awake[this.#below(awake.length)]
    if (victim) await this.#act(victim)
    await clock.advance(this.#below(4000))
  }

  async #act(victim: Victim): Promise<void> {
    const dice = this.#below(46)
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
    else if (dice < 33) await this.jobs.rota.act(victim.punctual, this.cluster.clock.wall()).catch(() => {})
    else if (dice < 35) this.#block(victim)
    else if (dice < 36) victim.clock.skew(this.#below(7_200_000) - 3_600_000)
    else if (dice < 38) await this.#raise(victim)
    else if (dice < 40) await this.#repeat(victim)
    else if (dice < 42) await this.#runDue()
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

  async #enqueueByKey({ punctual }: Victim): Promise<void> {
    const key = keys[this.#below(keys.length)] as string
    const ways = [{ delay: this.#below(9000) }, {}, { debounce: { wait: '3s', longest: '10s' } }, { throttle: '20s' }] as const
    const way = this.#below(ways.length)
    const job = way < 2 ? 'one' : 'held'
    const made = await punctual.enqueue(job, key, { key, ...ways[way] }).catch(() => null)
    if (made) this.created.add(made.id)
    const live = await allLines(punctual, { job, key, state: open }).catch(() => [])
    // Debounced work that comes while the work before runs takes the key from it.
    if (job === 'one' && live.length > 1) this.faults.push(`${live.length} live occurrences have the key ${key}`)
  }

  async #reschedule({ punctual }: Victim): Promise<void> {
    const key = keys[this.#below(keys.length)] as string
    const found = await punctual.get({ job: 'one', key }).catch(() => null)
    if (!found) return
    this.jobs.moved.add(found.id)
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
  /** Its event loop does nothing for a while, and its thread does not beat for it: a process that was frozen. */
  #block(victim: Victim): void {
    const ms = this.#below(40_000)
    victim.store.block()
    victim.clock.block()
    victim.isStalled = true
    victim.cutUntil = this.cluster.clock.mono() + ms
    victim.blockedUntil = Number.POSITIVE_INFINITY
  }

  /** Dead work gets another chance, or is given up. */
  async #raise({ punctual }: Victim): Promise<void> {
    const page = await punctual.deadLetters({ limit: 20 }).catch(() => null)
    const some = page?.items[this.#below(page.items.length || 1)]
    if (some) await (this.#below(2) === 0 ? punctual.retry(some.id) : punctual.discard(some.id)).catch(() => {})
  }

  /** A request that comes again, from another process. */
  async #repeat({ punctual }: Victim): Promise<void> {
    const names = [...this.#named.keys()]
    const name = names[this.#below(names.length)]
    if (name === undefined) return
    const [job, idempotencyKey] = name.split(' ') as [string, string]
    const made = await punctual.enqueue(job, keys[this.#below(keys.length)], { idempotencyKey }).catch(() => null)
    if (made) this.created.add(made.id)
  }

  /** A host that ticks from outside: one pass, and then the process may be gone. */
  async #runDue(): Promise<void> {
    const guest = this.#victim(true)
    void guest.punctual.runDue({ limit: 3 }).catch(() => {})
    await this.cluster.clock.advance(this.#below(8000))
    if (this.#below(3) > 0) return
    guest.store.freeze()
    guest.isCrashed = true
  }

  /** A deployment that is aborted: its node declares another task, lives for a while and leaves. */
  async #canary(): Promise<void> {
    const work: Work = (ctx) => this.jobs.work(canary, ctx)
    const job = defineJob('one', { retry: { max: 50, interval: 500, factor: 1 } })
      .task('only', work as never)
      .task('more', () => 'canary')
    const clock = new NodeClock(this.cluster.clock)
    const canary: Victim = Object.assign(this.cluster.client({ jobs: [job], concurrency: 1, clock }), { clock, ...unharmed })
    await canary.punctual.start()
    await this.cluster.clock.advance(this.#below(6000))
    const closed = canary.punctual.close()
    await this.cluster.clock.advance('40s')
    await closed
  }

  async #join(isSpecialist: boolean): Promise<void> {
    const victim = this.#victim(isSpecialist)
    this.#victims.push(victim)
    await victim.punctual.start()
  }

  #victim(isSpecialist: boolean): Victim {
    const clock = new NodeClock(this.cluster.clock)
    const jobs = this.jobs.definitions(() => victim, { isSpecialist, hasBooks: this.#hasBooks })
    const victim: Victim = Object.assign(this.cluster.client({ jobs, concurrency: 3, clock }), { clock, ...unharmed })
    return victim
  }

  async #enqueue({ punctual }: Victim): Promise<void> {
    const jobs = this.#hasBooks ? [...enqueued, 'booked'] : enqueued
    const requests = Array.from({ length: 1 + this.#below(4) }, (_, at) => ({
      job: jobs[this.#below(jobs.length)] as string,
      idempotencyKey: `${this.created.size}-${at}`,
      payload: keys[this.#below(keys.length)],
      delay: this.#below(5000),
      priority: this.#below(10),
      ...(this.#below(4) === 0 && { tenant: 'acme' }),
    }))
    const answers = await punctual.enqueueMany(requests).catch(() => [])
    for (const [at, { id }] of answers.entries()) {
      const { job, idempotencyKey, tenant } = requests[at] as (typeof requests)[number] & { tenant?: string }
      this.created.add(id)
      if (tenant === undefined) this.#named.set(`${job} ${idempotencyKey}`, id)
      if (this.#below(8) === 0) this.#results.begin(id)
    }
  }

  #heal(victim: Victim): void {
    victim.store.heal()
    victim.clock.unblock()
    victim.isStalled = false
    if (victim.blockedUntil === Number.POSITIVE_INFINITY) victim.blockedUntil = this.cluster.clock.mono() + 10_000
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }
}

const unharmed = { isCrashed: false, isStalled: false, cutUntil: 0, blockedUntil: 0 }
